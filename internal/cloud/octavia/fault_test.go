// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// faults are ways in which the response to a read can be broken.
func faults() map[string]wire.Fault {
	answer := func(text string) wire.Fault {
		return wire.Fault{Kind: wire.FaultStatus, Status: http.StatusOK, Body: text, Header: map[string]string{"Content-Type": "application/json"}}
	}
	return map[string]wire.Fault{
		"nulls": answer(`{"loadbalancers": null, "loadbalancer": null, "statuses": {"loadbalancer": null}, "listeners": null,
			"pools": null, "members": null, "healthmonitor": null, "healthmonitors": null}`),
		"another kind": answer(`{"loadbalancers": {}, "loadbalancer": [], "statuses": [], "listeners": "", "pools": 1, "members": {},
			"healthmonitor": [], "healthmonitors": {}}`),
		"objects of no id": answer(`{"loadbalancers": null, "loadbalancer": {}, "statuses": {}, "healthmonitor": {}}`),
		"garbage":          {Kind: wire.FaultGarbage},
		"half a body":      {Kind: wire.FaultHalfBody},
		"no answer":        {Kind: wire.FaultResetBefore},
		"no content":       {Kind: wire.FaultStatus, Status: http.StatusNoContent},
		"500":              {Kind: wire.FaultStatus, Status: http.StatusInternalServerError},
	}
}

func TestAReadWithABrokenResponseFailsAndReturnsNothing(t *testing.T) {
	s := simulate(t, cloudsim.Options{})
	head := s.create(t, wanted(s.IDs().PrivateSubnet))
	untagged := head // whose monitors are read individually
	untagged.Tags = nil
	ctx := t.Context()
	observe := func(l lb.LoadBalancer) func() (bool, error) {
		return func() (bool, error) {
			got, err := s.Observe(ctx, l)
			return len(got.Listeners)+len(got.DetachedPools) > 0, err
		}
	}
	one := func() (bool, error) { l, err := s.Get(ctx, head.ID); return l.ID != "", err }
	for name, read := range map[string]struct {
		routes string
		read   func() (something bool, err error)
	}{
		"one":         {"loadbalancers/{id}", one},
		"a head":      {"loadbalancers/{id}", func() (bool, error) { h, err := s.Head(ctx, head.ID); return h.ID != "", err }},
		"by name":     {"loadbalancers", func() (bool, error) { l, err := s.FindByName(ctx, head.Name); return l != nil, err }},
		"heads":       {"loadbalancers", func() (bool, error) { h, err := s.Heads(ctx, head.Tags[0]); return h != nil, err }},
		"a tree":      {"loadbalancers/{id}/status", func() (bool, error) { t, err := s.Tree(ctx, head.ID); return t.ID != "", err }},
		"everything":  {"listeners pools pools/{id}/members healthmonitors", observe(head)},
		"without tag": {"healthmonitors/{id}", observe(untagged)},
	} {
		for what, fault := range faults() {
			for route := range strings.FieldsSeq(read.routes) {
				t.Run(name+", "+what+" from "+strings.ReplaceAll(route, "/", " "), func(t *testing.T) {
					fault.Method, fault.Route = http.MethodGet, "/v2.0/lbaas/"+route
					id := s.Faults().Add(fault)
					defer s.Faults().Remove(id)
					something, err := read.read()
					if openstack.Classify(err) != openstack.Transient || something {
						t.Errorf("class %q, something there: %t: %v", openstack.Classify(err), something, err)
					}
				})
			}
		}
		if something, err := read.read(); err != nil || !something {
			t.Errorf("%s without a fault: something there: %t: %v", name, something, err)
		}
	}
}

func TestThrottlingByOctaviaHasItsClass(t *testing.T) {
	s := simulate(t, cloudsim.Options{})
	s.Faults().Add(wire.Fault{Kind: wire.FaultStatus, Status: http.StatusServiceUnavailable, Times: 1, Header: map[string]string{"Retry-After": "0"}})
	if heads, err := s.Heads(t.Context(), "x"); openstack.Classify(err) != openstack.Throttled || heads != nil {
		t.Errorf("heads %v, error %v", heads, err)
	}
}
