package main

import (
	"bufio"
	"net/http"
)

const goneEvent = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure",` +
	`"message":"too old resource version","reason":"Expired","code":410}}` + "\n"

// serveWatch passes events on, one line each.
func (c *call) serveWatch(response *http.Response) {
	c.copyHeader(response.Header)
	c.writer.WriteHeader(response.StatusCode)
	out := http.NewResponseController(c.writer)
	_ = out.Flush()
	lines := bufio.NewReaderSize(response.Body, 1<<20)
	for number := 0; ; number++ {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 && !c.passEvent(number, line) {
			return
		}
		_ = out.Flush()
		if err != nil {
			return
		}
	}
}

// passEvent sends one event, or does what is to happen to it. False: the watch ends.
func (c *call) passEvent(number int, line []byte) bool {
	if !c.concerns(number) {
		_, err := c.writer.Write(line)
		return err == nil
	}
	fault := &c.rule.Fault
	c.rule.fire()
	switch fault.Do {
	case "repeat":
		line = append(append([]byte{}, line...), line...)
	case "swallow":
		line = nil
	case "late":
		if !sleep(c.Context(), fault.Seconds) {
			return false
		}
	case "cut":
		panic(http.ErrAbortHandler)
	case "silent":
		<-c.Context().Done()
		return false
	case "gone":
		_, _ = c.writer.Write([]byte(goneEvent))
		return false
	case "garbage":
		line = []byte("<html>no event</html>\n")
	case "torn":
		_, _ = c.writer.Write(line[:len(line)/2])
		_ = http.NewResponseController(c.writer).Flush()
		panic(http.ErrAbortHandler)
	}
	_, err := c.writer.Write(line)
	return err == nil
}

// concerns says whether the fault is about the event of that number.
func (c *call) concerns(number int) bool {
	if c.rule == nil || !does[c.rule.Fault.Do] {
		return false
	}
	from := c.rule.Fault.FromEvent
	return number == from || (number > from && !c.rule.Fault.OnlyOneEvent)
}
