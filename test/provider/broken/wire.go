package main

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// message is what one message of the protocol has: no generated code, since most of what is answered
// here is meant to be wrong.
type message []byte

func (m message) bytes(number protowire.Number, value []byte) message {
	return protowire.AppendBytes(protowire.AppendTag(m, number, protowire.BytesType), value)
}

func (m message) text(number protowire.Number, value string) message {
	return m.bytes(number, []byte(value))
}

func (m message) number(number protowire.Number, value uint64) message {
	return protowire.AppendVarint(protowire.AppendTag(m, number, protowire.VarintType), value)
}

// field is the last one of that number: nil, where there is none.
func (m message) field(wanted protowire.Number) message {
	var found message
	for rest := m; len(rest) > 0; {
		number, kind, n := protowire.ConsumeTag(rest)
		if n < 0 {
			return found
		}
		rest = rest[n:]
		if n = protowire.ConsumeFieldValue(number, kind, rest); n < 0 {
			return found
		}
		if number == wanted && kind == protowire.BytesType {
			found, _ = protowire.ConsumeBytes(rest)
		}
		rest = rest[n:]
	}
	return found
}
