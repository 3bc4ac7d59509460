// The proxy of the fault tests: it stands between an operator and a real API server, and makes
// requests fail as rules ask for.
//
// Each operator has a lane: a port of its own, with its own rules and its own record of requests.
// Tests make lanes, set rules and read records over the control API (control.go), which listens on
// a port of the loopback interface. The first line on stdout names it. The proxy ends when its
// stdin is closed, so it never outlives the test that started it.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
)

func main() {
	server := flag.String("server", "", "URL of the API server")
	ca := flag.String("ca", "", "file with the CA of the API server")
	certificate := flag.String("certificate", "", "file with the client certificate of the proxy")
	key := flag.String("key", "", "file with the key of the client certificate")
	flag.Parse()
	log.SetFlags(log.Ltime | log.Lmicroseconds)
	if err := run(*server, *ca, *certificate, *key); err != nil {
		log.Fatal(err)
	}
}

func run(server, caFile, certificateFile, keyFile string) error {
	upstream, err := newUpstream(server, caFile, certificateFile, keyFile)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	line, err := json.Marshal(map[string]string{"control": "http://" + listener.Addr().String()})
	if err != nil {
		return err
	}
	fmt.Println(string(line))
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return http.Serve(listener, newControl(upstream))
}

// upstream is the API server, as the proxy reaches it.
type upstream struct {
	server string
	// own carries the client certificate of the proxy, so the API server takes a request for the
	// proxy's, or for that of the user in its Impersonate headers. passed carries none: the
	// request counts as that of the operator's own bearer token.
	own, passed *http.Transport
}

func newUpstream(server, caFile, certificateFile, keyFile string) (*upstream, error) {
	pem, err := os.ReadFile(caFile)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, errors.New(caFile + " has no certificate")
	}
	pair, err := tls.LoadX509KeyPair(certificateFile, keyFile)
	if err != nil {
		return nil, err
	}
	return &upstream{
		server: server,
		own:    newTransport(&tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}),
		passed: newTransport(&tls.Config{RootCAs: roots}),
	}, nil
}

func newTransport(config *tls.Config) *http.Transport {
	return &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true, DisableCompression: true}
}
