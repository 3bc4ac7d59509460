package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// control is the API by which tests use the proxy. Bodies are JSON.
//
//	GET    /authorities/{name}                the CA's certificate, as PEM; made if it is new
//	POST   /lanes                             {authority, passes}: a new lane; gives {name, server}
//	DELETE /lanes/{lane}
//	PUT    /lanes/{lane}/authority            {authority}: certificates from another one
//	POST   /lanes/{lane}/cut                  resets all connections
//	GET    /lanes/{lane}/requests?since=N     the records from number N on
//	PUT    /lanes/{lane}/rules                sets all rules; requests that old ones hold go on
//	POST   /lanes/{lane}/rules                adds rules after those that there are
//	GET    /lanes/{lane}/rules/{rule}?fired=N&seconds=S
//	                                          waits until N requests have come to the point of
//	                                          their fault; gives {seen, fired}
//	POST   /lanes/{lane}/rules/{rule}/release?outcome=pass|drop
type control struct {
	upstream *upstream

	lock        sync.Mutex
	authorities map[string]*authority
	lanes       map[string]*Lane
	made        int
}

func newControl(to *upstream) http.Handler {
	c := &control{upstream: to, authorities: map[string]*authority{}, lanes: map[string]*Lane{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /authorities/{name}", c.getAuthority)
	mux.HandleFunc("POST /lanes", c.addLane)
	mux.HandleFunc("DELETE /lanes/{lane}", c.removeLane)
	mux.HandleFunc("PUT /lanes/{lane}/authority", c.with(c.changeAuthority))
	mux.HandleFunc("POST /lanes/{lane}/cut", c.with(cutLane))
	mux.HandleFunc("GET /lanes/{lane}/requests", c.with(listRequests))
	mux.HandleFunc("PUT /lanes/{lane}/rules", c.with(setRules))
	mux.HandleFunc("POST /lanes/{lane}/rules", c.with(addRules))
	mux.HandleFunc("GET /lanes/{lane}/rules/{rule}", c.with(waitForRule))
	mux.HandleFunc("POST /lanes/{lane}/rules/{rule}/release", c.with(releaseRule))
	return mux
}

// with finds the lane; an error of the handler is the test's.
func (c *control) with(handle func(*Lane, *http.Request) (any, error)) http.HandlerFunc {
	return func(writer http.ResponseWriter, request *http.Request) {
		c.lock.Lock()
		lane := c.lanes[request.PathValue("lane")]
		c.lock.Unlock()
		if lane == nil {
			http.Error(writer, "no such lane", http.StatusNotFound)
			return
		}
		result, err := handle(lane, request)
		reply(writer, result, err)
	}
}

func reply(writer http.ResponseWriter, result any, err error) {
	if err != nil {
		http.Error(writer, err.Error(), http.StatusBadRequest)
		return
	}
	writer.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(writer).Encode(result)
}

func (c *control) authority(name string) (*authority, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if found := c.authorities[name]; found != nil {
		return found, nil
	}
	made, err := newAuthority(name)
	if err == nil {
		c.authorities[name] = made
	}
	return made, err
}

func (c *control) getAuthority(writer http.ResponseWriter, request *http.Request) {
	found, err := c.authority(request.PathValue("name"))
	if err != nil {
		reply(writer, nil, err)
		return
	}
	_, _ = writer.Write(found.pem)
}

type laneRequest struct {
	Authority string `json:"authority"`
	Passes    bool   `json:"passes"`
}

func (c *control) addLane(writer http.ResponseWriter, request *http.Request) {
	var wanted laneRequest
	if err := json.NewDecoder(request.Body).Decode(&wanted); err != nil {
		reply(writer, nil, err)
		return
	}
	from, err := c.authority(wanted.Authority)
	if err != nil {
		reply(writer, nil, err)
		return
	}
	lane, err := newLane(c.upstream, from, wanted.Passes)
	if err != nil {
		reply(writer, nil, err)
		return
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	c.made++
	name := strconv.Itoa(c.made)
	c.lanes[name] = lane
	reply(writer, map[string]string{"name": name, "server": "https://" + lane.address}, nil)
}

func (c *control) removeLane(writer http.ResponseWriter, request *http.Request) {
	c.lock.Lock()
	lane := c.lanes[request.PathValue("lane")]
	delete(c.lanes, request.PathValue("lane"))
	c.lock.Unlock()
	if lane != nil {
		lane.setRules(nil)
		lane.close()
	}
	reply(writer, struct{}{}, nil)
}

func (c *control) changeAuthority(lane *Lane, request *http.Request) (any, error) {
	var wanted laneRequest
	if err := json.NewDecoder(request.Body).Decode(&wanted); err != nil {
		return nil, err
	}
	from, err := c.authority(wanted.Authority)
	if err != nil {
		return nil, err
	}
	return struct{}{}, lane.change(from)
}

func cutLane(lane *Lane, _ *http.Request) (any, error) {
	lane.cut()
	return struct{}{}, nil
}

func listRequests(lane *Lane, request *http.Request) (any, error) {
	since, err := number(request, "since", 0)
	if err != nil {
		return nil, err
	}
	return lane.records.since(int(since)), nil
}

func setRules(lane *Lane, request *http.Request) (any, error) {
	rules, err := readRules(request)
	if err == nil {
		lane.setRules(rules)
	}
	return struct{}{}, err
}

func addRules(lane *Lane, request *http.Request) (any, error) {
	rules, err := readRules(request)
	if err == nil {
		lane.addRules(rules)
	}
	return struct{}{}, err
}

func readRules(request *http.Request) ([]*Rule, error) {
	decoder := json.NewDecoder(request.Body)
	decoder.DisallowUnknownFields()
	var rules []*Rule
	if err := decoder.Decode(&rules); err != nil {
		return nil, err
	}
	for _, rule := range rules {
		if err := rule.compile(); err != nil {
			return nil, err
		}
	}
	return rules, nil
}

func waitForRule(lane *Lane, request *http.Request) (any, error) {
	rule, err := namedRule(lane, request)
	if err != nil {
		return nil, err
	}
	wanted, err := number(request, "fired", 0)
	if err != nil {
		return nil, err
	}
	seconds, err := number(request, "seconds", 0)
	if err != nil {
		return nil, err
	}
	end := time.After(time.Duration(seconds * float64(time.Second)))
	for {
		seen, fired, changed := rule.count()
		if fired >= int(wanted) {
			return map[string]int{"seen": seen, "fired": fired}, nil
		}
		select {
		case <-changed:
		case <-end:
			return map[string]int{"seen": seen, "fired": fired}, nil
		case <-request.Context().Done():
			return nil, request.Context().Err()
		}
	}
}

func releaseRule(lane *Lane, request *http.Request) (any, error) {
	rule, err := namedRule(lane, request)
	if err != nil {
		return nil, err
	}
	outcome := request.URL.Query().Get("outcome")
	if outcome != "pass" && outcome != "drop" {
		return nil, fmt.Errorf("outcome is %q, neither pass nor drop", outcome)
	}
	rule.release(outcome)
	return struct{}{}, nil
}

func namedRule(lane *Lane, request *http.Request) (*Rule, error) {
	name := request.PathValue("rule")
	if rule := lane.rule(name); rule != nil {
		return rule, nil
	}
	return nil, fmt.Errorf("no rule is called %q", name)
}

func number(request *http.Request, name string, otherwise float64) (float64, error) {
	text := request.URL.Query().Get(name)
	if text == "" {
		return otherwise, nil
	}
	return strconv.ParseFloat(text, 64)
}
