// terraform-provider-broken: a provider for tests that does what a provider must not. What that is, the
// test says while it runs: before its handshake ("Start"), and at each call, the provider asks
// $BROKEN/MOMENT, which answers with one of the words below and what belongs to it; with nothing, all is
// as it should be. It speaks protocol 6, by hand.
package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

func wireNumber(number int) protowire.Number { return protowire.Number(number) }

// asked is what is to be done now: a word, and the rest.
func asked(moment string) (string, string) {
	response, err := http.Get(fmt.Sprintf("%s/%s?pid=%d", os.Getenv("BROKEN"), moment, os.Getpid()))
	if err != nil {
		return "", "" // the test is over
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	word, rest, _ := strings.Cut(string(text), " ")
	return word, rest
}

func forever() {
	for {
		time.Sleep(time.Hour)
	}
}

func die() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL); forever() }

func complain(text string) { fmt.Fprintln(os.Stderr, text) }

// ---- Before the handshake ----

func pour(to io.Writer) {
	for {
		fmt.Fprint(to, strings.Repeat("rubbish ", 1024))
	}
}

// greet says where it listens.
func greet(listener net.Listener) {
	fmt.Printf("1|6|unix|%s|grpc|\n", listener.Addr())
}

func begin(listener net.Listener) {
	switch word, rest := asked("Start"); word {
	case "silent":
		forever()
	case "print":
		fmt.Println(rest)
		forever()
	case "exit":
		complain(rest)
		os.Exit(1)
	case "pour":
		pour(os.Stdout)
	case "absent":
		greet(listener)
		listener.Close()
		forever()
	case "deaf": // it takes connections, and says nothing
		greet(listener)
		for {
			_, _ = listener.Accept()
		}
	case "noise":
		greet(listener)
		for {
			if to, err := listener.Accept(); err == nil {
				go pour(to)
			}
		}
	}
}

// ---- Calls ----

// grow takes so many MiB of memory that is shared. The kernel does not count it as asked
// for (RLIMIT_DATA), so that only who looks at the process sees it.
func grow(mebibytes string) {
	number, _ := strconv.Atoi(mebibytes)
	taken, err := syscall.Mmap(-1, 0, number<<20, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_SHARED|syscall.MAP_ANONYMOUS)
	if err != nil {
		complain(err.Error())
		os.Exit(1)
	}
	for at := 0; at < len(taken); at += os.Getpagesize() {
		taken[at] = 1
	}
	forever()
}

// finish is what comes after a message: gRPC's status; "": none.
func finish(to http.ResponseWriter, status, text string) {
	_ = http.NewResponseController(to).Flush() // else Go sends no trailers
	if status != "" {
		to.Header().Set("Grpc-Status", status)
		to.Header().Set("Grpc-Message", text)
	}
}

// beginAnswer is the beginning of an answer with a message of that length.
func beginAnswer(to http.ResponseWriter, length uint32) {
	to.Header().Set("Content-Type", "application/grpc")
	to.Header().Set("Trailer", "Grpc-Status, Grpc-Message")
	_, _ = to.Write(binary.BigEndian.AppendUint32([]byte{0}, length))
}

func send(to http.ResponseWriter, body []byte) {
	beginAnswer(to, uint32(len(body)))
	_, _ = to.Write(body)
	finish(to, "0", "")
}

func sendTooMuch(to http.ResponseWriter, request *http.Request) {
	beginAnswer(to, 1<<31)
	part := make([]byte, 1<<20)
	for request.Context().Err() == nil {
		if _, err := to.Write(part); err != nil {
			return
		}
	}
}

func call(to http.ResponseWriter, request *http.Request, method string) {
	body, _ := io.ReadAll(request.Body)
	switch word, rest := asked(method); word {
	case "hang":
		forever()
	case "freeze": // all of it, also for calls of others
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		forever()
	case "die":
		die()
	case "grow":
		grow(rest)
	case "big":
		sendTooMuch(to, request)
	case "garble": // no message
		send(to, []byte(strings.Repeat("\xff", 64)))
	case "cut": // a message without its end
		beginAnswer(to, 256)
		finish(to, "0", "")
	case "page": // no gRPC
		to.Header().Set("Content-Type", "text/html")
		to.WriteHeader(http.StatusBadGateway)
		_, _ = to.Write([]byte("<h1>Bad Gateway</h1>"))
	case "endless": // without gRPC's status
		beginAnswer(to, 0)
		finish(to, "", "")
	case "status":
		number, text, _ := strings.Cut(rest, " ")
		to.Header().Set("Content-Type", "application/grpc")
		to.Header().Set("Trailer", "Grpc-Status, Grpc-Message")
		finish(to, number, text)
	case "ill": // a message, whose values are none
		send(to, ill(method, message(nil).bytes(1, []byte("\xc1\xc1"))))
	case "deep":
		send(to, ill(method, message(nil).bytes(1, []byte(strings.Repeat("\x91", 100000)))))
	case "other": // of another type
		send(to, ill(method, valueOf([]string{"a", "b"})))
	case "refuse":
		send(to, diagnostics(method, rest, 1))
	case "warn":
		send(to, append(answer(method, message(body[5:])), diagnostics(method, rest, 2)...))
	default:
		send(to, answer(method, message(body[5:])))
	}
}

func handle(to http.ResponseWriter, request *http.Request) {
	service, method, _ := strings.Cut(strings.TrimPrefix(request.URL.Path, "/"), "/")
	switch {
	case method == "Shutdown":
		os.Exit(0)
	case method == "StreamStdio":
		<-request.Context().Done()
	case service == "tfplugin6.Provider":
		call(to, request, method)
	default:
		send(to, nil)
	}
}

func main() {
	listener, err := net.Listen("unix", filepath.Join(os.Getenv("TMPDIR"), "plugin1"))
	if err != nil {
		complain(err.Error())
		os.Exit(1)
	}
	begin(listener)
	greet(listener)
	server := &http.Server{Handler: http.HandlerFunc(handle), Protocols: new(http.Protocols)}
	server.Protocols.SetUnencryptedHTTP2(true)
	complain(server.Serve(listener).Error())
}
