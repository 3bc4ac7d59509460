package main

import (
	"encoding/json"
	"strings"

	"github.com/vmihailenco/msgpack/v5"
)

// What this provider answers when nothing is asked of it. Its resources have no computed values, so
// that a state is what was planned, and a plan is what was proposed.

// ---- Schemas ----

func attribute(name, of, is string) message {
	flags := map[string]message{
		"required":  message(nil).number(4, 1),
		"optional":  message(nil).number(5, 1),
		"sensitive": message(nil).number(5, 1).number(7, 1),
		"computed":  message(nil).number(6, 1),
	}
	return append(message(nil).text(1, name).text(2, of), flags[is]...)
}

func block(attributes ...message) message {
	var made message
	for _, one := range attributes {
		made = made.bytes(2, one)
	}
	return made
}

func schema(of message) message { return message(nil).bytes(2, of) }

func entry(name string, of message) message { return message(nil).text(1, name).bytes(2, schema(of)) }

func schemas() message {
	name, text := attribute("name", `"string"`, "required"), attribute("text", `"string"`, "optional")
	secret, size := attribute("secret", `"string"`, "sensitive"), attribute("size", `"number"`, "optional")
	tags := attribute("tags", `["map","string"]`, "optional")
	part := message(nil).text(1, "part").bytes(2, block(attribute("size", `"number"`, "required"))).
		number(3, 2).number(4, 1).number(5, 2) // a list of one or two
	return message(nil).
		bytes(1, schema(block(attribute("region", `"string"`, "optional"),
			attribute("token", `"string"`, "sensitive")))).
		bytes(2, entry("broken_thing", block(name, text, secret, size, tags))).
		bytes(2, entry("broken_parts", block(name).bytes(3, part))).
		bytes(3, entry("broken_found", block(name, secret, attribute("found", `"string"`, "computed"))))
}

// ---- Values ----

func valueOf(value any) message {
	packed, err := msgpack.Marshal(value)
	if err != nil {
		panic(err)
	}
	return message(nil).bytes(1, packed)
}

// fromJSON is a stored state, as it is sent.
func fromJSON(state message) message {
	var value any
	if err := json.Unmarshal(state, &value); err != nil {
		panic(err)
	}
	return valueOf(value)
}

func nothingBut(name string) map[string]any {
	return map[string]any{"name": name, "text": nil, "secret": nil, "size": nil, "tags": nil}
}

// ---- Calls ----

func answer(method string, request message) message {
	switch method {
	case "GetProviderSchema":
		return schemas()
	case "UpgradeResourceState":
		return message(nil).bytes(1, fromJSON(request.field(3).field(1)))
	case "ReadResource":
		return message(nil).bytes(1, request.field(2)).bytes(3, request.field(3))
	case "PlanResourceChange":
		return message(nil).bytes(1, request.field(3)).bytes(3, request.field(5))
	case "ApplyResourceChange":
		return message(nil).bytes(1, request.field(3)).bytes(2, request.field(5))
	case "ImportResourceState":
		return message(nil).bytes(1, message(nil).bytes(1, request.field(1)).
			bytes(2, valueOf(nothingBut(string(request.field(2))))))
	case "ReadDataSource":
		var config map[string]any
		if err := msgpack.Unmarshal(request.field(2).field(1), &config); err != nil {
			panic(err)
		}
		config["found"] = "found"
		return message(nil).bytes(1, valueOf(config))
	}
	return nil // of a validation: nothing is wrong
}

// ill is an answer of the right kind of message, whose values are not.
func ill(method string, value message) message {
	switch method {
	case "GetProviderSchema":
		return message(nil).bytes(1, value).bytes(2, entry("broken_thing", value))
	case "ImportResourceState":
		return message(nil).bytes(1, message(nil).text(1, "broken_thing").bytes(2, value))
	}
	return message(nil).bytes(1, value)
}

// diagnostics are errors of the provider, or warnings, each at an attribute: "text is bad|size, too".
func diagnostics(method, texts string, severity uint64) message {
	var all message
	for _, text := range strings.Split(texts, "|") {
		one, isWarning := strings.CutPrefix(text, "warn ")
		if isWarning {
			severity = 2
		}
		all = append(all, diagnostic(method, one, severity)...)
	}
	return all
}

func diagnostic(method, text string, severity uint64) message {
	number := map[string]int{"GetProviderSchema": 4, "PlanResourceChange": 4, "ApplyResourceChange": 3,
		"ValidateProviderConfig": 2, "ReadResource": 2, "UpgradeResourceState": 2, "ImportResourceState": 2,
		"ReadDataSource": 2}[method]
	if number == 0 {
		number = 1
	}
	place, words, _ := strings.Cut(text, " ")
	step := message(nil).text(1, place)
	said := message(nil).number(1, severity).text(2, words).bytes(4, message(nil).bytes(1, step))
	return message(nil).bytes(wireNumber(number), said)
}
