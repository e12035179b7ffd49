// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// exchange is what is kept of one call: what does not change from run to run.
type exchange struct {
	// Call is "METHOD service path?query", with {id} for every id.
	Call   string `json:"call"`
	Status int    `json:"status"`
	// Headers are those of headersThatMatter that the answer has.
	Headers []string `json:"headers,omitempty"`
	// Body is the answer with each text replaced by "string" (but see
	// keysWithText), each list by its elements taken together, and numbers and
	// booleans kept unless they vary. The texts of a refusal are kept, with {id}
	// and {address} in them; those of a 500 are Python's and are not.
	Body any `json:"body,omitempty"`
}

// headersThatMatter are the headers that clients read.
var headersThatMatter = []string{
	"X-Openstack-Request-Id", "X-Subject-Token", "Location", "Retry-After", "Www-Authenticate", "Openstack-Api-Version", "Etag",
}

// keysWithText are the keys whose texts are choices of the API.
var keysWithText = []string{
	"action", "compare_type", "device_owner", "direction", "ethertype", "expected_codes", "http_method", "lb_algorithm", "protocol", "type", "url_path",
}

// keysThatVary are the keys whose numbers differ from run to run.
var keysThatVary = []string{"revision_number", "standard_attr_id", "mtu", "disk", "ram", "vcpus"}

var (
	anyID = regexp.MustCompile(`(?i)\b[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\b`)
	// Addresses of the private and public networks differ from cloud to cloud.
	anyAddress = regexp.MustCompile(`\b(10|127|172)(\.\d{1,3}){3}(/\d+)?\b|\bfd[0-9a-f]{2}:[0-9a-f:]+`)
	anyMAC     = regexp.MustCompile(`\bfa:16:3e(:[0-9a-f]{2}){3}\b`)
	anyPort    = regexp.MustCompile(`(http://)[^/" ]+`)
	// Octavia passes on the error of a library about a certificate that it cannot read.
	libraryWords = regexp.MustCompile(`Error: (\[\('|Unable to load PEM file).*`)
	// Keystone appends the whole schema, as Python prints it, to the message about a request that
	// does not fit the schema.
	schemaDump   = regexp.MustCompile(`(?s)\n\nFailed validating .*`)
	unordered    = regexp.MustCompile(`(Value should be one of|Unknown attributes for argument [\w.]+): [^:]*$`)
	unrecognized = regexp.MustCompile(`Unrecognized attribute\(s\) '[^']*'`)
	unique       = regexp.MustCompile(`(?i)\bcase-[0-9a-z]+\b`)
)

// normal replaces what differs from run to run in a text.
func normal(text string) string {
	text = anyID.ReplaceAllString(text, "{id}")
	text = anyPort.ReplaceAllString(text, "${1}{host}")
	text = anyAddress.ReplaceAllString(text, "{address}")
	text = anyMAC.ReplaceAllString(text, "{mac}")
	text = schemaDump.ReplaceAllString(text, "")
	text = libraryWords.ReplaceAllString(text, "Error: {words}")
	text = unordered.ReplaceAllStringFunc(text, inOrder)
	text = unrecognized.ReplaceAllStringFunc(text, inQuotedOrder)
	return unique.ReplaceAllString(text, "{name}")
}

// inOrder sorts words that Octavia takes from a set in Python.
func inOrder(text string) string {
	before, after, _ := strings.Cut(text, ": ")
	words := strings.Split(after, ", ")
	slices.Sort(words)
	return before + ": " + strings.Join(words, ", ")
}

// inQuotedOrder does the same for what Neutron puts between quotation marks.
func inQuotedOrder(text string) string {
	before, after, _ := strings.Cut(text, "'")
	words := strings.Split(strings.TrimSuffix(after, "'"), ", ")
	slices.Sort(words)
	return before + "'" + strings.Join(words, ", ") + "'"
}

// newExchange makes the record of a call.
func newExchange(service, method, path string, a answer) exchange {
	e := exchange{Call: method + " " + service + " " + normal(strings.ReplaceAll(path, "%3D", "=")), Status: a.Status}
	for _, name := range headersThatMatter {
		if a.Header.Get(name) != "" {
			e.Headers = append(e.Headers, name)
		}
	}
	switch {
	case a.Body == nil && a.Text != "":
		e.Body = "not JSON"
	case a.Status >= http.StatusBadRequest && a.Status != http.StatusInternalServerError:
		e.Body = words(a.Body)
	default:
		e.Body = shape(a.Body)
	}
	return e
}

// shape returns the JSON value without what differs from run to run.
func shape(x any) any { return shapeAt("", x) }

// shapeAt returns the shape of what an object has at the key.
func shapeAt(key string, x any) any {
	switch v := x.(type) {
	case map[string]any:
		m := map[string]any{}
		for name, value := range v {
			// Keystone shows links of a role if a client has read the role lately.
			if key != "roles" || name != "links" {
				m[normal(name)] = shapeAt(name, value)
			}
		}
		return m
	case []any:
		if key == "catalog" {
			v = slices.DeleteFunc(slices.Clone(v), hasNoCaller)
		}
		var joined any
		for i, item := range v {
			s := shapeAt(key, item)
			if i > 0 {
				s = union(joined, s)
			}
			joined = s
		}
		if len(v) == 0 {
			return []any{}
		}
		return []any{joined}
	case string:
		if slices.Contains(keysWithText, key) {
			return fmt.Sprintf("string %s", v)
		}
		return "string"
	case float64:
		if slices.Contains(keysThatVary, key) {
			return "number"
		}
		return fmt.Sprintf("number %v", v)
	case bool:
		return fmt.Sprintf("boolean %v", v)
	}
	return "null"
}

// hasNoCaller reports that an entry of the catalogue is of a service that neither kube-octavia nor
// a case calls: which of these a cloud has does not matter.
func hasNoCaller(entry any) bool {
	e, _ := entry.(map[string]any)
	called := []any{"identity", "network", "load-balancer", "compute", "key-manager", "image"}
	return !slices.Contains(called, e["type"])
}

// union returns the shape of something that has one of the two shapes: "null|string" for instance.
// Keys that only one has are marked with a question mark.
func union(a, b any) any {
	ma, okA := a.(map[string]any)
	mb, okB := b.(map[string]any)
	la, listA := a.([]any)
	lb, listB := b.([]any)
	switch {
	case okA && okB:
		return unionOfObjects(ma, mb)
	case listA && listB && len(la) == 0:
		return lb
	case listA && listB && len(lb) == 0:
		return la
	case listA && listB:
		return []any{union(la[0], lb[0])}
	}
	sa, okA := a.(string)
	sb, okB := b.(string)
	if sa == "mixed" || sb == "mixed" {
		return "mixed" // in whatever order a list comes
	}
	if okA && okB {
		types := append(strings.Split(sa, "|"), strings.Split(sb, "|")...)
		slices.Sort(types)
		return strings.Join(slices.Compact(types), "|")
	}
	if cmp.Equal(a, b) {
		return a
	}
	return "mixed"
}

func unionOfObjects(a, b map[string]any) map[string]any {
	m := map[string]any{}
	for key, value := range a {
		switch other, both := b[key]; {
		case both:
			m[key] = union(value, other)
		default:
			m[strings.TrimSuffix(key, "?")+"?"] = value
		}
	}
	for key, value := range b {
		if _, both := a[key]; !both {
			m[strings.TrimSuffix(key, "?")+"?"] = value
		}
	}
	return m
}

// words returns the JSON value with the texts kept, for answers that are errors.
func words(x any) any {
	switch v := x.(type) {
	case map[string]any:
		m := map[string]any{}
		for key, value := range v {
			m[key] = words(value)
		}
		return m
	case []any:
		l := []any{}
		for _, item := range v {
			l = append(l, words(item))
		}
		return l
	case string:
		return normal(v)
	}
	return x
}

// recordings are the recorded exchanges of one group, by the name of the case. Of a release
// only the cases are kept whose exchanges are not those of the release before it, so that its
// file tells what has changed; the oldest has all.
type recordings struct {
	dir     string
	group   string
	release release
	mu      sync.Mutex
	// inherited are those of the releases before, kept those of the release itself.
	inherited, kept map[string][]exchange
}

// recordingFile returns the file of a release's exchanges of a group.
func recordingFile(dir, group string, r release) string {
	if r != releases[0] {
		dir = filepath.Join(dir, string(r))
	}
	return filepath.Join(dir, strings.TrimPrefix(group, "Test")+".json")
}

// loadRecordings reads what was recorded of a group; none is no error.
func loadRecordings(dir, group string, r release) (*recordings, error) {
	loaded := &recordings{dir: dir, group: group, release: r, inherited: map[string][]exchange{}, kept: map[string][]exchange{}}
	for _, of := range r.upTo() {
		recorded := map[string][]exchange{}
		path := recordingFile(dir, group, of)
		text, err := os.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, err
		}
		if err := json.Unmarshal(text, &recorded); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if of == r {
			loaded.kept = recorded
		} else {
			maps.Copy(loaded.inherited, recorded)
		}
	}
	return loaded, nil
}

// of returns what the release answers in a case.
func (r *recordings) of(name string) (exchanges []exchange, known bool) {
	if exchanges, known = r.kept[name]; !known {
		exchanges, known = r.inherited[name]
	}
	return exchanges, known
}

// check compares a case's exchanges with the recorded ones, or records them.
func (r *recordings) check(t *testing.T, name string, have []exchange) {
	t.Helper()
	have = plain(t, have)
	r.mu.Lock()
	defer r.mu.Unlock()
	if *record {
		r.record(name, have)
		return
	}
	want, known := r.of(name)
	if !known {
		t.Errorf("nothing is recorded for this case: run it on a real cloud with -record")
	} else if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("the answers are not those recorded from a real cloud of release %s (-recorded +this cloud):\n%s", r.release, diff)
	}
}

// record keeps a case's exchanges unless the release before answers the same.
func (r *recordings) record(name string, have []exchange) {
	if before, known := r.inherited[name]; known && cmp.Equal(before, have) {
		delete(r.kept, name)
		return
	}
	r.kept[name] = have
}

// plain takes the exchanges through JSON, so that they compare with loaded ones.
func plain(t *testing.T, have []exchange) []exchange {
	t.Helper()
	if len(have) == 0 {
		return []exchange{}
	}
	text, err := json.Marshal(have)
	if err != nil {
		t.Fatal(err)
	}
	var same []exchange
	if err := json.Unmarshal(text, &same); err != nil {
		t.Fatal(err)
	}
	return same
}

// save writes the recordings of the release; cases that were not run keep theirs, those that
// the group has no more are dropped when whole says that all were run. There is no file for
// a newer release that differs in nothing.
func (r *recordings) save(cases []string, whole bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name := range r.kept {
		if whole && !slices.Contains(cases, name) {
			delete(r.kept, name)
		}
	}
	path := recordingFile(r.dir, r.group, r.release)
	if len(r.kept) == 0 {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	text, err := encode(r.kept)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// encode writes one line for each exchange: readable in a diff, and short.
func encode(kept map[string][]exchange) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("{\n")
	var names []string
	for name := range kept {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		fmt.Fprintf(&b, "%s: [\n", quoted(name))
		for k, e := range kept[name] {
			line, err := marshal(e)
			if err != nil {
				return nil, err
			}
			b.WriteString("  " + line)
			if k < len(kept[name])-1 {
				b.WriteString(",")
			}
			b.WriteString("\n")
		}
		b.WriteString("]")
		if i < len(names)-1 {
			b.WriteString(",")
		}
		b.WriteString("\n")
	}
	b.WriteString("}\n")
	return b.Bytes(), nil
}

func quoted(text string) string {
	line, _ := marshal(text) // a string can always be encoded
	return line
}

// marshal is json.Marshal on one line, with < and > as they are.
func marshal(x any) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(x)
	return strings.TrimSpace(b.String()), err
}
