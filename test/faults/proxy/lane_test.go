package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// server is an API server that counts what reaches it. A watch has three events.
type server struct {
	*httptest.Server
	reached atomic.Int32
}

func newServer(t *testing.T) *server {
	s := &server{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		number := s.reached.Add(1)
		if verbOf(r) == "WATCH" {
			for i := range 3 {
				_, _ = fmt.Fprintf(w, "{\"event\":%d}\n", i)
			}
			return
		}
		_, _ = fmt.Fprintf(w, "answer %d", number)
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// newTestLane gives a lane in front of a server, and a client that trusts it.
func newTestLane(t *testing.T, to *server, rules ...*Rule) (*Lane, *http.Client) {
	t.Helper()
	roots := to.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	transport := newTransport(&tls.Config{RootCAs: roots})
	from, err := newAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	lane, err := newLane(&upstream{server: to.URL, own: transport, passed: transport}, from, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lane.close)
	for _, rule := range rules {
		compiled(t, rule)
	}
	lane.setRules(rules)
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(from.pem)
	return lane, &http.Client{Transport: newTransport(&tls.Config{RootCAs: trusted}), Timeout: time.Second}
}

// send gives what a client sees: "code body", or "failed" with what it had read until then.
func send(client *http.Client, lane *Lane, method, path string) string {
	request, err := http.NewRequest(method, "https://"+lane.address+path, strings.NewReader("{}"))
	if err != nil {
		return err.Error()
	}
	response, err := client.Do(request)
	if err != nil {
		return "failed"
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return "failed after " + string(body)
	}
	return fmt.Sprintf("%d %s", response.StatusCode, body)
}

func TestFaults(t *testing.T) {
	cases := []struct {
		name    string
		fault   Fault
		want    string
		reached int32
	}{
		{"nothing", Fault{At: after}, "200 answer 1", 1},
		{"drop before", Fault{At: before, Do: "drop"}, "failed", 0},
		{"drop after", Fault{At: after, Do: "drop"}, "failed", 1},
		{"drop and deliver", Fault{At: before, Do: "drop", Detached: true}, "failed", 1},
		{"reset before", Fault{At: before, Do: "reset"}, "failed", 0},
		{"reset after", Fault{At: after, Do: "reset"}, "failed", 1},
		{"hang before", Fault{At: before, Do: "hang"}, "failed", 0},
		{"hang after", Fault{At: after, Do: "hang"}, "failed", 1},
		{"delay", Fault{At: before, Do: "delay", Seconds: 0.1}, "200 answer 1", 1},
		{"delay too long", Fault{At: before, Do: "delay", Seconds: 1.3}, "failed", 0},
		{"delay, detached", Fault{At: before, Do: "delay", Seconds: 1.3, Detached: true}, "failed", 1},
		{"delay the answer", Fault{At: after, Do: "delay", Seconds: 0.1}, "200 answer 1", 1},
		{"answer before", Fault{At: before, Do: "answer", Code: 503, Body: "no"}, "503 no", 0},
		{"answer after", Fault{At: after, Do: "answer", Code: 500, Body: "no"}, "500 no", 1},
		{"truncate", Fault{At: after, Do: "truncate"}, "failed after answ", 1},
		{"half", Fault{At: after, Do: "half"}, "200 answ", 1},
		{"goaway", Fault{At: after, Do: "goaway"}, "200 answer 1", 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			to := newServer(t)
			rule := &Rule{Name: "fault", Fault: c.fault}
			lane, client := newTestLane(t, to, rule)
			if got := send(client, lane, http.MethodPatch, "/a"); got != c.want {
				t.Errorf("the client got %q", got)
			}
			eventually(t, func() bool { return to.reached.Load() == c.reached })
			eventually(t, func() bool { _, fired, _ := rule.count(); return fired == 1 })
			if got := send(client, lane, http.MethodPatch, "/a"); !strings.HasPrefix(got, "200 answer") {
				t.Errorf("the next one got %q", got)
			}
		})
	}
}

func TestStale(t *testing.T) {
	to := newServer(t)
	lane, client := newTestLane(t, to, &Rule{Skip: 1, Fault: Fault{At: after, Do: "stale"}})
	for i, want := range []string{"200 answer 1", "200 answer 1", "200 answer 3"} {
		if got := send(client, lane, http.MethodGet, "/a"); got != want {
			t.Errorf("request %d got %q", i, got)
		}
	}
}

func TestHold(t *testing.T) {
	for outcome, want := range map[string]string{"pass": "200 answer 1", "drop": "failed"} {
		to := newServer(t)
		rule := &Rule{Fault: Fault{At: before, Do: "hold"}}
		lane, client := newTestLane(t, to, rule)
		got := make(chan string)
		go func() { got <- send(client, lane, http.MethodPatch, "/a") }()
		eventually(t, func() bool { _, fired, _ := rule.count(); return fired == 1 })
		if to.reached.Load() != 0 {
			t.Error("it was not held")
		}
		rule.release(outcome)
		if answer := <-got; answer != want {
			t.Errorf("%s: the client got %q", outcome, answer)
		}
	}
}

func TestWatches(t *testing.T) {
	const e0, e1, e2 = "{\"event\":0}\n", "{\"event\":1}\n", "{\"event\":2}\n"
	cases := []struct {
		fault Fault
		want  string
	}{
		{Fault{Do: "repeat"}, "200 " + e0 + e0 + e1 + e1 + e2 + e2},
		{Fault{Do: "swallow", FromEvent: 1, OnlyOneEvent: true}, "200 " + e0 + e2},
		{Fault{Do: "swallow", FromEvent: 1}, "200 " + e0},
		{Fault{Do: "late", Seconds: 0.05}, "200 " + e0 + e1 + e2},
		{Fault{Do: "cut", FromEvent: 1}, "failed after " + e0},
		{Fault{Do: "silent", FromEvent: 2}, "failed after " + e0 + e1},
		{Fault{Do: "gone", FromEvent: 1}, "200 " + e0 + goneEvent},
		{Fault{Do: "garbage", OnlyOneEvent: true}, "200 <html>no event</html>\n" + e1 + e2},
		{Fault{Do: "torn"}, "failed after {\"even"},
	}
	for _, c := range cases {
		to := newServer(t)
		lane, client := newTestLane(t, to, &Rule{Fault: c.fault})
		if got := send(client, lane, http.MethodGet, "/a?watch=1"); got != c.want {
			t.Errorf("%s: the client got %q", c.fault.Do, got)
		}
	}
}

func TestRecords(t *testing.T) {
	to := newServer(t)
	lane, client := newTestLane(t, to,
		&Rule{Name: "one", Path: "/b", Fault: Fault{At: before, Do: "answer", Code: 503}})
	send(client, lane, http.MethodPatch, "/a")
	send(client, lane, http.MethodPatch, "/b")
	send(client, lane, http.MethodGet, "/c?watch=true")
	eventually(t, func() bool {
		return !slices.ContainsFunc(lane.records.since(0), func(r Record) bool { return !r.Ended })
	})
	want := []Record{
		{Number: 0, Verb: "PATCH", Path: "/a", Body: "{}", Forwarded: true, Code: 200, Ended: true},
		{Number: 1, Verb: "PATCH", Path: "/b", Body: "{}", Rule: "one", Ended: true},
		{Number: 2, Verb: "WATCH", Path: "/c?watch=true", Body: "{}", Forwarded: true, Code: 200, Ended: true},
	}
	for i, got := range lane.records.since(0) {
		got.Seconds = 0
		if got != want[i] {
			t.Errorf("record %d: %+v", i, got)
		}
	}
	if len(lane.records.since(2)) != 1 || len(lane.records.since(9)) != 0 {
		t.Error("since")
	}
}

func eventually(t *testing.T, check func() bool) {
	t.Helper()
	for end := time.Now().Add(3 * time.Second); !check(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not in time")
		}
	}
}
