// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/cloudsim/neutron"
	"github.com/kube-octavia/kube-octavia/cloudsim/release"
)

// step is a request and the answer of a real Octavia 11.0.0, recorded at its API with a provider
// and a network that do nothing. Names such as $lb stand for ids that earlier steps have saved.
// Answers with status 500 are not recorded, because Python generates their texts.
type step struct {
	Method string            `json:"method"`
	Path   string            `json:"path"`
	Body   json.RawMessage   `json:"body"`
	Save   map[string]string `json:"save"`
	Status int               `json:"status"`
	Answer any               `json:"answer"`
}

func TestAnswersEqualThoseOfARealOctavia(t *testing.T) {
	text, err := os.ReadFile("testdata/octavia11.json")
	if err != nil {
		t.Fatal(err)
	}
	var steps []step
	if err := json.Unmarshal(text, &steps); err != nil {
		t.Fatal(err)
	}
	c := newCloud(t, Options{Release: release.Zed, APIVersion: "2.26"})
	c.network = forgetful{c.network, map[string]string{}}
	known := map[string]string{"project": alice.ProjectID, "subnet": c.ids.PrivateSubnetID, "network": c.ids.PublicNetworkID}
	for i, s := range steps {
		path := s.Path
		body := string(s.Body)
		for _, name := range names(known) {
			path = strings.ReplaceAll(path, "$"+name, known[name])
			body = strings.ReplaceAll(body, "$"+name, known[name])
		}
		a := c.send(httptest.NewRequest(s.Method, "/v2.0"+path, strings.NewReader(body)), admin)
		for name, where := range s.Save {
			known[name] = a.str(where)
		}
		what := fmt.Sprintf("step %d: %s %s %s", i, s.Method, s.Path, s.Body)
		if a.status != s.Status {
			t.Errorf("%s\nanswers %d %s\nwant    %d %v", what, a.status, a.text, s.Status, s.Answer)
		} else if diff := cmp.Diff(ordered(clean(s.Answer, known)), ordered(clean(a.body, known))); s.Status < 500 && diff != "" {
			t.Errorf("%s: -real +simulated\n%s", what, diff)
		}
		if lb := known["lb"]; lb != "" && i < len(steps)-1 {
			c.await(lb, "ACTIVE")
		}
	}
}

// forgetful is a network that keeps no ports, like that of the recording: what a refused create
// leaves behind does not affect the next one.
type forgetful struct {
	VIPNetwork
	ports map[string]string // by address
}

func (n forgetful) AllocateVIP(req neutron.VIPRequest) (neutron.VIP, error) {
	vip, err := n.VIPNetwork.AllocateVIP(req)
	if errors.Is(err, neutron.ErrAddressInUse) {
		if err := n.ReleaseVIP(n.ports[req.Address]); err != nil {
			return vip, err
		}
		vip, err = n.VIPNetwork.AllocateVIP(req)
	}
	n.ports[vip.Address] = vip.PortID
	return vip, err
}

// names returns the names, the longest first, as one may begin another.
func names(known map[string]string) []string {
	sorted := slices.Sorted(maps.Keys(known))
	slices.SortStableFunc(sorted, func(a, b string) int { return len(b) - len(a) })
	return sorted
}

var (
	anyID   = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	choices = regexp.MustCompile(`(Value should be one of: ).*`)
	// A fault that shows the whole body shows it in another order.
	wholeBody = regexp.MustCompile(`(Value: ')\{.*\}('\. )`)
)

// clean removes from an answer what differs from run to run.
func clean(x any, known map[string]string) any {
	switch v := x.(type) {
	case map[string]any:
		if v == nil {
			return nil
		}
		kept := map[string]any{}
		for key, value := range v {
			if !slices.Contains([]string{"created_at", "updated_at", "operating_status", "vip_network_id"}, key) {
				kept[key] = clean(value, known)
			}
		}
		return kept
	case []any:
		kept := make([]any, len(v))
		for i, item := range v {
			kept[i] = clean(item, known)
		}
		return kept
	case string:
		for _, name := range names(known) {
			v = strings.ReplaceAll(v, known[name], "$"+name)
		}
		v = wholeBody.ReplaceAllString(anyID.ReplaceAllString(v, "$$uuid"), "${1}...${2}")
		return choices.ReplaceAllString(v, "${1}...")
	}
	return x
}

// ordered sorts all lists: the order of objects created within one second is random.
func ordered(x any) any {
	switch v := x.(type) {
	case map[string]any:
		for key, value := range v {
			v[key] = ordered(value)
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		for i, item := range v {
			v[i] = ordered(item)
		}
		slices.SortFunc(v, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
	return x
}
