package main

import (
	"crypto/tls"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Record is one request, as the proxy saw it.
type Record struct {
	Number      int     `json:"number"`
	Seconds     float64 `json:"seconds"` // since the lane was made
	Verb        string  `json:"verb"`    // the method, or WATCH
	Path        string  `json:"path"`    // with the query
	As          string  `json:"as"`      // the user that it impersonates
	Certificate string  `json:"certificate"`
	Body        string  `json:"body"` // at most bodyLimit bytes
	Forwarded   bool    `json:"forwarded"`
	Code        int     `json:"code"` // of the API server's answer; 0: none
	Rule        string  `json:"rule"` // the rule by which it fails
	Ended       bool    `json:"ended"`
	GivenUp     bool    `json:"givenUp"` // the operator went before the answer
}

const bodyLimit = 4096

// records is what a lane has seen.
type records struct {
	lock  sync.Mutex
	began time.Time
	list  []*Record
}

func (r *records) add(request *http.Request, body []byte, rule *Rule) *Record {
	record := &Record{
		Verb: verbOf(request), Path: request.URL.RequestURI(),
		As: request.Header.Get("Impersonate-User"), Certificate: clientCertificate(request.TLS),
		Body: string(body[:min(len(body), bodyLimit)]),
	}
	if rule != nil {
		record.Rule = rule.Name
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	record.Number = len(r.list)
	record.Seconds = time.Since(r.began).Seconds()
	r.list = append(r.list, record)
	return record
}

func (r *records) update(record *Record, change func(*Record)) {
	r.lock.Lock()
	defer r.lock.Unlock()
	change(record)
}

// since gives copies of all from a number on.
func (r *records) since(number int) []Record {
	r.lock.Lock()
	defer r.lock.Unlock()
	found := []Record{}
	for _, record := range r.list[min(number, len(r.list)):] {
		found = append(found, *record)
	}
	return found
}

func verbOf(request *http.Request) string {
	watch := request.URL.Query().Get("watch")
	if request.Method == http.MethodGet && (watch == "1" || strings.EqualFold(watch, "true")) {
		return "WATCH"
	}
	return request.Method
}

// clientCertificate gives the serial number of the certificate that the operator showed.
func clientCertificate(state *tls.ConnectionState) string {
	if state == nil || len(state.PeerCertificates) == 0 {
		return ""
	}
	return state.PeerCertificates[0].SerialNumber.String()
}
