package main

import (
	"fmt"
	"regexp"
	"slices"
	"sync"
)

// Rule says which requests of a lane fail, and how. Of several rules that match a request, the
// first one whose turn it is counts.
type Rule struct {
	Name  string `json:"name"`
	Verb  string `json:"verb"`  // GET, POST, …, or WATCH; empty: all
	Path  string `json:"path"`  // regular expression for the path with its query; empty: all
	Body  string `json:"body"`  // regular expression for the body; empty: all
	Skip  int    `json:"skip"`  // number of matching requests that are left alone first
	Times int    `json:"times"` // number of requests that fail; 0: one; -1: all
	Fault Fault  `json:"fault"`

	path, body *regexp.Regexp

	lock     sync.Mutex
	seen     int // requests that matched
	taken    int // requests that were chosen to fail
	fired    int // requests that did fail
	changed  chan struct{}
	released chan struct{}
	outcome  string // of the requests that are held: "pass" or "drop"
}

// Where a fault comes in.
const (
	before = "before" // the API server does not see the request, or sees it later
	after  = "after"  // the API server has answered
)

// Fault is what happens to a request.
type Fault struct {
	At           string            `json:"at"` // before or after
	Do           string            `json:"do"` // one of the words in `does`
	Seconds      float64           `json:"seconds"`
	Detached     bool              `json:"detached"` // delay, hold, drop: reaches the API server all the same
	Code         int               `json:"code"`     // answer
	Body         string            `json:"body"`     // answer
	Headers      map[string]string `json:"headers"`  // answer
	FromEvent    int               `json:"fromEvent"`
	OnlyOneEvent bool              `json:"onlyOneEvent"`
}

// does has what a fault can do; true: to the events of a watch.
var does = map[string]bool{
	"":         false, // nothing but tell that the request was there
	"drop":     false, // end the stream
	"reset":    false, // end the connection
	"hang":     false, // never answer
	"delay":    false, // wait
	"hold":     false, // wait until the test releases the rule
	"answer":   false, // answer something else
	"truncate": false, // send half of the answer, then end the stream
	"half":     false, // answer with the first half of the body, as if it were all
	"stale":    false, // answer what the same path answered the first time
	"goaway":   false, // answer, and ask the operator to use another connection
	"repeat":   true,  // send events twice
	"swallow":  true,  // leave events out
	"late":     true,  // send events late
	"cut":      true,  // end the stream before an event
	"silent":   true,  // send nothing from an event on, and keep the stream open
	"gone":     true,  // send an ERROR event of 410 in place of an event
	"garbage":  true,  // send something that is no JSON in place of an event
	"torn":     true,  // send half of an event, then end the stream
}

func (r *Rule) compile() error {
	if !slices.Contains([]string{before, after}, r.Fault.At) {
		return fmt.Errorf("rule %q: at is %q, neither %s nor %s", r.Name, r.Fault.At, before, after)
	}
	if _, known := does[r.Fault.Do]; !known {
		return fmt.Errorf("rule %q: a fault cannot do %q", r.Name, r.Fault.Do)
	}
	var err error
	if r.path, err = regexp.Compile(r.Path); err != nil {
		return err
	}
	if r.body, err = regexp.Compile(r.Body); err != nil {
		return err
	}
	if r.Times == 0 {
		r.Times = 1
	}
	r.changed = make(chan struct{})
	r.released = make(chan struct{})
	return nil
}

func (r *Rule) matches(verb, path string, body []byte) bool {
	return (r.Verb == "" || r.Verb == verb) && r.path.MatchString(path) && r.body.Match(body)
}

// take counts a request, and says whether it fails.
func (r *Rule) take(verb, path string, body []byte) bool {
	if !r.matches(verb, path, body) {
		return false
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	r.seen++
	if r.seen <= r.Skip || (r.Times > 0 && r.taken >= r.Times) {
		return false
	}
	r.taken++
	return true
}

// fire tells those who wait that a request has come to the point of its fault.
func (r *Rule) fire() {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.fired++
	close(r.changed)
	r.changed = make(chan struct{})
}

// count gives how many requests matched, and how many came to the point of their fault, and a
// channel that is closed when the latter changes.
func (r *Rule) count() (seen, fired int, changed <-chan struct{}) {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.seen, r.fired, r.changed
}

// release lets the requests go on that are held, and all later ones of the rule.
func (r *Rule) release(outcome string) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.outcome == "" {
		r.outcome = outcome
		close(r.released)
	}
}

// choose gives the rule by which a request fails, or nil.
func choose(rules []*Rule, verb, path string, body []byte) *Rule {
	var chosen *Rule
	for _, rule := range rules {
		if chosen == nil && rule.take(verb, path, body) {
			chosen = rule
		}
	}
	return chosen
}
