package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"time"
)

// call is one request on its way.
type call struct {
	lane   *Lane
	verb   string
	body   []byte
	writer http.ResponseWriter
	*http.Request
	record *Record
	rule   *Rule // nil: nothing happens to it
}

// answer is one of the API server, or one that a fault makes.
type answer struct {
	code   int
	header http.Header
	body   []byte
}

func (l *Lane) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return // the operator has given up
	}
	verb := verbOf(request)
	rule := choose(l.allRules(), verb, request.URL.RequestURI(), body)
	c := &call{lane: l, verb: verb, body: body, writer: writer, Request: request, rule: rule,
		record: l.records.add(request, body, rule)}
	defer func() {
		l.records.update(c.record, func(r *Record) { r.Ended = true })
	}()
	c.serve()
}

func (c *call) serve() {
	ctx, goesOn := c.passBefore()
	if !goesOn {
		return
	}
	response, err := c.forward(ctx)
	if err != nil {
		c.lane.records.update(c.record, func(r *Record) { r.GivenUp = c.Context().Err() != nil })
		panic(http.ErrAbortHandler) // ends the stream
	}
	defer func() { _ = response.Body.Close() }()
	c.lane.records.update(c.record, func(r *Record) { r.Code = response.StatusCode })
	if c.verb == "WATCH" && response.StatusCode == http.StatusOK {
		c.serveWatch(response)
		return
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	c.passAfter(&answer{response.StatusCode, response.Header, body})
}

// forward sends the request to the API server.
func (c *call) forward(ctx context.Context) (*http.Response, error) {
	url := c.lane.upstream.server + c.URL.RequestURI()
	request, err := http.NewRequestWithContext(ctx, c.Method, url, bytes.NewReader(c.body))
	if err != nil {
		return nil, err
	}
	request.Header = c.Header.Clone()
	if c.lane.transport == c.lane.upstream.own {
		request.Header.Del("Authorization")
	}
	c.lane.records.update(c.record, func(r *Record) { r.Forwarded = true })
	return c.lane.transport.RoundTrip(request)
}

// send answers the operator.
func (c *call) send(a *answer) {
	c.copyHeader(a.header)
	c.writer.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	c.writer.WriteHeader(a.code)
	_, _ = c.writer.Write(a.body)
}

// copyHeader takes all of an answer's header but its length, which a fault may change.
func (c *call) copyHeader(header http.Header) {
	for name, values := range header {
		if name != "Content-Length" {
			c.writer.Header()[name] = values
		}
	}
}

// sleep waits; it is false if the operator has given up before.
func sleep(ctx context.Context, seconds float64) bool {
	timer := time.NewTimer(time.Duration(seconds * float64(time.Second)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// remember keeps the first answer to each GET, for faults that answer it again.
func (l *Lane) remember(path string, a *answer) *answer {
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.first[path] == nil {
		l.first[path] = a
	}
	return l.first[path]
}
