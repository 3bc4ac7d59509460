package main

import "testing"

func compiled(t *testing.T, rule *Rule) *Rule {
	t.Helper()
	if rule.Fault.At == "" {
		rule.Fault.At = after
	}
	if err := rule.compile(); err != nil {
		t.Fatal(err)
	}
	return rule
}

func TestRuleTakes(t *testing.T) {
	requests := []struct{ verb, path, body string }{
		{"GET", "/api/v1/configmaps?limit=5", ""},
		{"PATCH", "/api/v1/configmaps/a", `{"a":1}`},
		{"PATCH", "/api/v1/configmaps/b", `{"b":1}`},
		{"WATCH", "/api/v1/configmaps?watch=1", ""},
		{"PATCH", "/api/v1/configmaps/a", `{"a":2}`},
	}
	cases := []struct {
		name string
		rule *Rule
		want []bool
	}{
		{"the first of all", &Rule{}, []bool{true, false, false, false, false}},
		{"all", &Rule{Times: -1}, []bool{true, true, true, true, true}},
		{"by verb", &Rule{Verb: "PATCH", Times: -1}, []bool{false, true, true, false, true}},
		{"a watch is no GET", &Rule{Verb: "GET", Times: -1}, []bool{true, false, false, false, false}},
		{"by path", &Rule{Path: "/a$", Times: -1}, []bool{false, true, false, false, true}},
		{"by query", &Rule{Path: "limit=", Times: -1}, []bool{true, false, false, false, false}},
		{"by body", &Rule{Body: `":2`, Times: -1}, []bool{false, false, false, false, true}},
		{"the second", &Rule{Verb: "PATCH", Skip: 1}, []bool{false, false, true, false, false}},
		{"two", &Rule{Verb: "PATCH", Times: 2}, []bool{false, true, true, false, false}},
	}
	for _, c := range cases {
		rule := compiled(t, c.rule)
		for i, request := range requests {
			if got := rule.take(request.verb, request.path, []byte(request.body)); got != c.want[i] {
				t.Errorf("%s: request %d: %t", c.name, i, got)
			}
		}
	}
}

func TestFirstRuleCounts(t *testing.T) {
	first := compiled(t, &Rule{Name: "first", Skip: 1})
	second := compiled(t, &Rule{Name: "second", Times: -1})
	want := []*Rule{second, first, second}
	for i, rule := range want {
		if got := choose([]*Rule{first, second}, "GET", "/", nil); got != rule {
			t.Errorf("request %d: rule %v", i, got)
		}
	}
}

func TestRuleIsRefused(t *testing.T) {
	cases := []*Rule{
		{Fault: Fault{At: "during"}},
		{Fault: Fault{At: before, Do: "dance"}},
		{Fault: Fault{At: before}, Path: "("},
		{Fault: Fault{At: before}, Body: "("},
	}
	for i, rule := range cases {
		if rule.compile() == nil {
			t.Errorf("case %d was taken", i)
		}
	}
}
