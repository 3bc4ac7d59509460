package main

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"time"
)

// passBefore does what is to happen before the API server gets the request. It gives the context
// that the request goes on with; false: it does not go on.
func (c *call) passBefore() (context.Context, bool) {
	ctx := c.Context()
	if c.rule == nil || c.rule.Fault.At != before || does[c.rule.Fault.Do] {
		return ctx, true
	}
	fault := &c.rule.Fault
	if fault.Detached {
		ctx = context.WithoutCancel(ctx)
	}
	c.rule.fire()
	switch fault.Do {
	case "drop":
		if fault.Detached {
			go c.deliver(ctx)
		}
		panic(http.ErrAbortHandler)
	case "reset":
		c.resetConnection()
		return nil, false
	case "hang":
		<-c.Context().Done()
		return nil, false
	case "delay":
		return ctx, sleep(ctx, fault.Seconds)
	case "hold":
		return ctx, c.hold(ctx)
	case "answer":
		c.send(fault.answer())
		return nil, false
	}
	return ctx, true
}

// deliver brings a request to the API server of which the operator knows that its stream ended: as a
// balancer does that had it in a buffer.
func (c *call) deliver(ctx context.Context) {
	select {
	case <-c.rule.released:
	case <-time.After(time.Duration(c.rule.Fault.Seconds * float64(time.Second))):
	}
	response, err := c.forward(ctx)
	if err != nil {
		return
	}
	_ = response.Body.Close()
	c.lane.records.update(c.record, func(r *Record) { r.Code = response.StatusCode })
}

// passAfter sends the API server's answer to the operator, or does what is to happen instead.
func (c *call) passAfter(a *answer) {
	first := a
	if c.verb == http.MethodGet && a.code == http.StatusOK {
		first = c.lane.remember(c.record.Path, a)
	}
	if c.rule == nil || c.rule.Fault.At != after || does[c.rule.Fault.Do] {
		c.send(a)
		return
	}
	fault := &c.rule.Fault
	if fault.Do != "" {
		c.rule.fire()
	}
	switch fault.Do {
	case "drop":
		panic(http.ErrAbortHandler)
	case "reset":
		c.resetConnection()
		return
	case "hang":
		<-c.Context().Done()
		return
	case "delay":
		sleep(c.Context(), fault.Seconds)
	case "hold":
		if !c.hold(c.Context()) {
			return
		}
	case "answer":
		a = fault.answer()
	case "half":
		a.body = a.body[:len(a.body)/2]
	case "truncate":
		c.truncate(a)
	case "stale":
		a = first
	case "goaway":
		// Of HTTP/2, too: the server says GOAWAY, and leaves the header out.
		c.writer.Header().Set("Connection", "close")
	}
	c.send(a)
	if fault.Do == "" {
		_ = http.NewResponseController(c.writer).Flush()
		c.rule.fire()
	}
}

// hold waits for the test; it is false if the request does not go on.
func (c *call) hold(ctx context.Context) bool {
	select {
	case <-c.rule.released:
	case <-ctx.Done():
		return false
	}
	if c.rule.outcome == "drop" {
		panic(http.ErrAbortHandler)
	}
	return true
}

func (c *call) resetConnection() {
	if connection, ok := c.Context().Value(connectionKey{}).(net.Conn); ok {
		reset(connection)
	}
	panic(http.ErrAbortHandler)
}

// truncate sends half of what it announces.
func (c *call) truncate(a *answer) {
	header := c.writer.Header()
	header.Set("Content-Type", a.header.Get("Content-Type"))
	header.Set("Content-Length", strconv.Itoa(len(a.body)))
	c.writer.WriteHeader(a.code)
	_, _ = c.writer.Write(a.body[:len(a.body)/2])
	_ = http.NewResponseController(c.writer).Flush()
	panic(http.ErrAbortHandler)
}

func (f *Fault) answer() *answer {
	header := http.Header{"Content-Type": {"application/json"}}
	for name, value := range f.Headers {
		header.Set(name, value)
	}
	return &answer{f.Code, header, []byte(f.Body)}
}
