package main

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Lane is what one operator talks to: a port, with its own rules and records.
type Lane struct {
	upstream  *upstream
	transport *http.Transport
	records   records
	address   string
	server    *http.Server

	lock        sync.Mutex
	rules       []*Rule
	certificate *tls.Certificate
	connections map[net.Conn]bool
	first       map[string]*answer // by path, the first answer to a GET
}

// newLane begins to listen. passes: requests count as those of the operator's own bearer token.
func newLane(to *upstream, from *authority, passes bool) (*Lane, error) {
	certificate, err := from.issue()
	if err != nil {
		return nil, err
	}
	lane := &Lane{
		upstream: to, transport: to.own, certificate: certificate,
		connections: map[net.Conn]bool{}, first: map[string]*answer{},
	}
	if passes {
		lane.transport = to.passed
	}
	lane.records.began = time.Now()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	lane.address = listener.Addr().String()
	lane.server = &http.Server{
		Handler:     lane,
		TLSConfig:   &tls.Config{GetCertificate: lane.current, ClientAuth: tls.RequestClientCert},
		HTTP2:       &http.HTTP2Config{MaxConcurrentStreams: 1000},
		ConnContext: keepConnection,
		ConnState:   lane.follow,
		ErrorLog:    log.New(io.Discard, "", 0), // what clients do to their connections
	}
	go func() { _ = lane.server.ServeTLS(listener, "", "") }()
	return lane, nil
}

func (l *Lane) close() { _ = l.server.Close() }

func (l *Lane) current(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.certificate, nil
}

// change moves the lane to a certificate of another authority; connections that are open stay.
func (l *Lane) change(from *authority) error {
	certificate, err := from.issue()
	if err != nil {
		return err
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	l.certificate = certificate
	return nil
}

func (l *Lane) setRules(rules []*Rule) {
	l.lock.Lock()
	old := l.rules
	l.rules = rules
	l.lock.Unlock()
	for _, rule := range old {
		rule.release("pass")
	}
}

func (l *Lane) addRules(rules []*Rule) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.rules = slices.Concat(l.rules, rules)
}

func (l *Lane) rule(name string) *Rule {
	l.lock.Lock()
	defer l.lock.Unlock()
	for _, rule := range l.rules {
		if rule.Name == name {
			return rule
		}
	}
	return nil
}

func (l *Lane) allRules() []*Rule {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.rules
}

// ---- connections

type connectionKey struct{}

func keepConnection(ctx context.Context, connection net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, connection)
}

func (l *Lane) follow(connection net.Conn, state http.ConnState) {
	l.lock.Lock()
	defer l.lock.Unlock()
	if state == http.StateClosed {
		delete(l.connections, connection)
	} else {
		l.connections[connection] = true
	}
}

// cut resets all connections of the operator.
func (l *Lane) cut() {
	l.lock.Lock()
	defer l.lock.Unlock()
	for connection := range l.connections {
		reset(connection)
	}
}

// reset ends a connection as a peer does that knows nothing of it: by RST.
func reset(connection net.Conn) {
	if wrapped, ok := connection.(*tls.Conn); ok {
		connection = wrapped.NetConn()
	}
	if tcp, ok := connection.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = connection.Close()
}
