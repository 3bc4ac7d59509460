package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestControl(t *testing.T) {
	to := newServer(t)
	transport := to.Client().Transport.(*http.Transport)
	api := httptest.NewServer(newControl(&upstream{server: to.URL, own: transport, passed: transport}))
	t.Cleanup(api.Close)
	cases := []struct {
		method, path, body string
		code               int
		says               string
	}{
		{"GET", "/authorities/a", "", 200, "BEGIN CERTIFICATE"},
		{"POST", "/lanes", `{"authority": "a"}`, 200, `"name":"1","server":"https://127.0.0.1:`},
		{"POST", "/lanes", "no JSON", 400, ""},
		{"GET", "/lanes/2/requests", "", 404, "no such lane"},
		{"GET", "/lanes/1/requests", "", 200, "[]"},
		{"GET", "/lanes/1/requests?since=x", "", 400, ""},
		{"PUT", "/lanes/1/rules", `[{"name": "r", "fault": {"at": "before"}}]`, 200, ""},
		{"POST", "/lanes/1/rules", `[{"name": "s", "fault": {"at": "before"}}]`, 200, ""},
		{"PUT", "/lanes/1/rules", `[{"fault": {"at": "never"}}]`, 400, "at is"},
		{"PUT", "/lanes/1/rules", `[{"unknown": 1}]`, 400, "unknown"},
		{"GET", "/lanes/1/rules/r", "", 200, `{"fired":0,"seen":0}`},
		{"GET", "/lanes/1/rules/s?fired=1&seconds=0.1", "", 200, `{"fired":0,"seen":0}`},
		{"GET", "/lanes/1/rules/t", "", 400, "no rule"},
		{"POST", "/lanes/1/rules/r/release?outcome=pass", "", 200, ""},
		{"POST", "/lanes/1/rules/r/release", "", 400, "neither pass nor drop"},
		{"PUT", "/lanes/1/authority", `{"authority": "b"}`, 200, ""},
		{"POST", "/lanes/1/cut", "", 200, ""},
		{"DELETE", "/lanes/1", "", 200, ""},
		{"GET", "/lanes/1/requests", "", 404, ""},
	}
	for _, c := range cases {
		request, err := http.NewRequest(c.method, api.URL+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if response.StatusCode != c.code || !strings.Contains(string(text), c.says) {
			t.Errorf("%s %s: %d %s", c.method, c.path, response.StatusCode, text)
		}
	}
}
