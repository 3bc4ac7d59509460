// A KMS plugin for tests, on the library that KMS v2 plugins are made with.
//
//	kms SOCKET SWITCHES          a plugin of KMS v2, with AES keys and annotations
//	kms SOCKET SWITCHES v1       a server without the service of KMS v2
//	kms SOCKET SWITCHES raw      answers each call with the bytes that the switches have, in hexadecimal
//
// SWITCHES is a file that each call reads anew. Its words, one a line:
//
//	key NAME       the key of the next Encrypt, and of Status (else "key-1")
//	other NAME     the key of the next Encrypt alone
//	version TEXT   of Status (else "v2")
//	unhealthy TEXT of Status
//	refuse TEXT    Encrypt and Decrypt fail with it, as status 2
//	damage         Encrypt gives a ciphertext that cannot be decrypted
//	exchange       Decrypt gives another seed
//	hang           nothing is answered
//	forget NAME    there is no such key any more
//
// Each call adds its name to SWITCHES.calls, and its key with it.
package main

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"k8s.io/kms/pkg/service"
)

const nonceName = "nonce.kms.test.kusion.io"

type plugin struct{ switches string }

type state map[string]string

// look reads the switches, and notes the call.
func (p *plugin) look(ctx context.Context, call string) (state, error) {
	words := state{"key": "key-1", "version": "v2"}
	text, err := os.ReadFile(p.switches)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for _, line := range strings.Split(string(text), "\n") {
		word, rest, _ := strings.Cut(line, " ")
		words[word] = rest
	}
	calls, err := os.OpenFile(p.switches+".calls", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer calls.Close()
	if _, err := fmt.Fprintln(calls, call); err != nil {
		return nil, err
	}
	if words.has("hang") {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return words, nil
}

func (s state) has(word string) bool {
	_, found := s[word]
	return found
}

func (p *plugin) Status(ctx context.Context) (*service.StatusResponse, error) {
	words, err := p.look(ctx, "Status")
	if err != nil {
		return nil, err
	}
	health := "ok"
	if words.has("unhealthy") {
		health = words["unhealthy"]
	}
	return &service.StatusResponse{Version: words["version"], Healthz: health, KeyID: words["key"]}, nil
}

func aead(key string) (cipher.AEAD, error) {
	sum := sha256.Sum256([]byte("the test's key " + key))
	block, err := aes.NewCipher(sum[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

func (p *plugin) Encrypt(ctx context.Context, uid string, data []byte) (*service.EncryptResponse, error) {
	words, err := p.look(ctx, "Encrypt")
	if err != nil {
		return nil, err
	}
	if words.has("refuse") {
		return nil, errors.New(words["refuse"])
	}
	key := words["key"]
	if words.has("other") {
		key = words["other"]
	}
	gcm, err := aead(key)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, gcm.NonceSize())
	if _, err := rand.Read(nonce); err != nil {
		return nil, err
	}
	sealed := gcm.Seal(nil, nonce, data, []byte(key))
	if words.has("damage") {
		sealed[0] ^= 1
	}
	return &service.EncryptResponse{Ciphertext: sealed, KeyID: key,
		Annotations: map[string][]byte{nonceName: nonce, "empty.kms.test.kusion.io": {}}}, nil
}

func (p *plugin) Decrypt(ctx context.Context, uid string, req *service.DecryptRequest) ([]byte, error) {
	words, err := p.look(ctx, "Decrypt "+req.KeyID)
	if err != nil {
		return nil, err
	}
	if words.has("refuse") {
		return nil, errors.New(words["refuse"])
	}
	if words.has("forget") && words["forget"] == req.KeyID {
		return nil, errors.New("there is no such key")
	}
	nonce, empty := req.Annotations[nonceName], req.Annotations["empty.kms.test.kusion.io"]
	if len(req.Annotations) != 2 || len(empty) != 0 {
		return nil, errors.New("these are not the annotations of an Encrypt")
	}
	gcm, err := aead(req.KeyID)
	if err != nil {
		return nil, err
	}
	if len(nonce) != gcm.NonceSize() {
		return nil, errors.New("the annotations have no nonce")
	}
	data, err := gcm.Open(nil, nonce, req.Ciphertext, []byte(req.KeyID))
	if err != nil {
		return nil, err
	}
	if words.has("exchange") {
		data[0] ^= 1
	}
	return data, nil
}

// ---- Servers that are no plugins ----

// bytesCodec takes messages as they are.
type bytesCodec struct{}

func (bytesCodec) Marshal(v any) ([]byte, error)      { return *v.(*[]byte), nil }
func (bytesCodec) Unmarshal(data []byte, v any) error { *v.(*[]byte) = data; return nil }
func (bytesCodec) Name() string                       { return "proto" }

func (p *plugin) answerRaw(_ any, stream grpc.ServerStream) error {
	var request []byte
	if err := stream.RecvMsg(&request); err != nil {
		return err
	}
	text, err := os.ReadFile(p.switches)
	if err != nil {
		return err
	}
	answer, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		return err
	}
	return stream.SendMsg(&answer)
}

func (p *plugin) serve(socket, kind string) error {
	options := []grpc.ServerOption{}
	if kind == "raw" {
		options = append(options, grpc.ForceServerCodec(bytesCodec{}), grpc.UnknownServiceHandler(p.answerRaw))
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	return grpc.NewServer(options...).Serve(listener)
}

func main() {
	if len(os.Args) < 3 {
		log.Fatal("usage: kms SOCKET SWITCHES [v1|raw]")
	}
	p := &plugin{switches: os.Args[2]}
	if len(os.Args) > 3 {
		log.Fatal(p.serve(os.Args[1], os.Args[3]))
	}
	log.Fatal(service.NewGRPCService(os.Args[1], time.Second, p).ListenAndServe())
}
