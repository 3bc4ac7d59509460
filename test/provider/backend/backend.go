// Package backend is the client of the small HTTP service in which the objects of both providers
// are (test/terraform/kusion_terraform/backend.py), and what their resources share: failing and
// being slow when told to.
package backend

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

// Address is the folder of the service that a provider works in: http://127.0.0.1:4000/name
type Address string

// Object is what the service keeps, without its id.
type Object map[string]any

var errAbsent = errors.New("absent")

func (a Address) do(method, place string, object Object, answer any) error {
	body, err := json.Marshal(object)
	if err != nil {
		return err
	}
	request, err := http.NewRequest(method, fmt.Sprintf("%s/%s", a, place), bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusNotFound:
		return errAbsent
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("%s %s: %s", method, place, response.Status)
	}
	decoder := json.NewDecoder(response.Body)
	decoder.UseNumber()
	return decoder.Decode(answer)
}

// Create makes an object and returns its id, KIND/NAME/N: the N-th of that name.
func (a Address) Create(kind, name string, object Object) (string, error) {
	var made struct{ ID string }
	err := a.do("POST", kind+"/"+name, object, &made)
	return made.ID, err
}

// Get returns nil where there is no such object.
func (a Address) Get(id string) (Object, error) {
	var object Object
	err := a.do("GET", id, nil, &object)
	if errors.Is(err, errAbsent) {
		return nil, nil
	}
	return object, err
}

// Put replaces an object.
func (a Address) Put(id string, object Object) error {
	return a.do("PUT", id, object, &Object{})
}

// Delete may find that there is none.
func (a Address) Delete(id string) error {
	err := a.do("DELETE", id, nil, &Object{})
	if errors.Is(err, errAbsent) {
		return nil
	}
	return err
}

// Knobs are what a resource's own attributes say of how it is to go wrong.
type Knobs struct {
	FailOn []string // create, create_half, read, plan, update, update_half, delete; quote: with all it was told
	Delay  string   // before each change
	Told   string   // what errors quote
}

// Tell is what a careless provider does if FailOn has "quote": all that it was told, its environment with
// it, comes into its log, and into errors. It returns the text, or "".
func (k *Knobs) Tell(told ...any) string {
	if !slices.Contains(k.FailOn, "quote") {
		return ""
	}
	k.Told = fmt.Sprintf("%v %q", told, os.Environ())
	fmt.Fprintln(os.Stderr, k.Told)
	fmt.Println(k.Told)
	return k.Told
}

// Fail returns an error if the moment is one of FailOn.
func (k Knobs) Fail(moment string) error {
	if slices.Contains(k.FailOn, moment) {
		return errors.New(strings.TrimSpace(fmt.Sprintf("fail_on has %q %s", moment, k.Told)))
	}
	return nil
}

// Begin is called before a change: it waits, and may fail.
func (k Knobs) Begin(moment string) error {
	if delay, err := time.ParseDuration(k.Delay); err == nil {
		time.Sleep(delay)
	}
	return k.Fail(moment)
}
