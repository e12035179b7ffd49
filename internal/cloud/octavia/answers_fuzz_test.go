// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia_test

import (
	_ "embed"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/test/mutate"
)

// answers are responses of an Octavia with a load balancer of ours: three listeners of ours and one of another
// Service, pools of both without a listener, and a load balancer of another cluster with the same name.
//
//go:embed testdata/answers.json
var answers []byte

var words = strings.Fields("v2.0 lbaas loadbalancers listeners pools members healthmonitors status")

// mostCalls limits the calls of one read: the responses contain about ten objects, and no list with several
// pages.
const mostCalls = 200

func through(transport http.RoundTripper) *octavia.Client {
	provider := &gophercloud.ProviderClient{HTTPClient: http.Client{Transport: transport}}
	return octavia.New(&gophercloud.ServiceClient{ProviderClient: provider, Endpoint: "http://octavia.test/v2.0/", Type: "load-balancer"}, "", amphora)
}

// FuzzAnswers mutates real responses. Regardless of what is read from them, the plan writes only to our
// own objects.
func FuzzAnswers(f *testing.F) {
	document := mutate.Parse(answers)
	f.Add([]byte{}, byte(0))
	f.Add([]byte{0, 40, 0}, byte(1))
	f.Add([]byte{0, 90, 3, 1, 20, 200, 2, 4, 0}, byte(2))
	f.Fuzz(func(t *testing.T, edits []byte, want byte) {
		cloud := &mutate.Cloud{Document: document.Edit(edits), Words: words}
		client := through(cloud)
		read := map[string]bool{}
		for _, head := range heads(t, client) {
			if !owner.Claims(head).Ours || read[head.ID] {
				continue
			}
			read[head.ID] = true
			observed, err := client.Observe(t.Context(), head)
			if classified(t, err) {
				continue
			}
			carryOut(t, client, cloud, observed, want)
		}
	})
}

// heads reads load balancers in every way.
func heads(t *testing.T, client *octavia.Client) []lb.LoadBalancer {
	t.Helper()
	found, err := client.FindByName(t.Context(), owner.LoadBalancerName())
	classified(t, err)
	one, err := client.Get(t.Context(), "0d54c6f1-7a93-4b1e-a6b5-b44ffd4ddc0d")
	if !classified(t, err) {
		found = append(found, one)
	}
	_, err = client.Heads(t.Context(), lb.ClusterTag(owner.ClusterUID))
	classified(t, err)
	return found
}

// classified checks that an error has what callers need, and reports whether there is one.
func classified(t *testing.T, err error) bool {
	t.Helper()
	if err == nil {
		return false
	}
	if cloud := (*openstack.Error)(nil); !errors.As(err, &cloud) || cloud.Class == "" || cloud.Op == "" || cloud.RetryAfter < 0 {
		t.Fatalf("an error that tells too little: %#v", err)
	}
	return true
}

// carryOut confirms what was observed, and carries out the plans for everything, less, and nothing.
func carryOut(t *testing.T, client *octavia.Client, cloud *mutate.Cloud, observed lb.LoadBalancer, want byte) {
	t.Helper()
	if tree, err := client.Tree(t.Context(), observed.ID); !classified(t, err) {
		if confirmed, _, err := octavia.Confirm(observed, nil, tree); err == nil {
			observed = confirmed
		}
	}
	target := lb.Wanted{}
	if want%4 != 0 {
		l := wanted("subnet")
		l.Listeners = l.Listeners[:want%4]
		target.LoadBalancer = &l
	}
	allowed := own(observed)
	reads := len(cloud.Requests)
	if reads > mostCalls {
		t.Fatalf("%d calls to read one load balancer", reads)
	}
	for _, op := range diff.New(target, lb.Observed{LoadBalancer: &observed}, owner).Ops {
		if op.Octavia() && !lacksID(op) {
			_, err := client.Apply(t.Context(), op)
			classified(t, err)
		}
	}
	for _, r := range cloud.Requests[reads:] {
		if r.Method != http.MethodGet && !allowedWrite(r, allowed) {
			t.Errorf("%s is no write to an object of ours\nours: %q\nload balancer: %+v", r, allowed, observed)
		}
	}
}

// lacksID reports whether an op needs the id of an object that another op has yet to create.
func lacksID(op diff.Op) bool {
	switch op := op.(type) {
	case diff.SetMembers:
		return op.PoolID == ""
	case diff.CreateMonitor:
		return op.PoolID == ""
	case diff.CreateListener:
		return op.PoolID == ""
	case diff.UpdateListener:
		return op.PoolID != nil && *op.PoolID == ""
	}
	return false
}

// own returns the ids that may be written. A pool of the owner's listener belongs to the owner, regardless
// of its tags.
func own(l lb.LoadBalancer) []string {
	ids := []string{l.ID}
	add := func(p lb.Pool) {
		ids = append(ids, p.ID)
		if p.Monitor != nil {
			ids = append(ids, p.Monitor.ID)
		}
	}
	for _, listener := range l.Listeners {
		if owner.OwnsListener(listener) {
			ids = append(ids, listener.ID)
			if listener.Pool != nil {
				add(*listener.Pool)
			}
		}
	}
	for _, p := range l.DetachedPools {
		if owner.OwnsPool(p) {
			add(p)
		}
	}
	return ids
}

// write matches the path of every write.
var write = regexp.MustCompile(`^/v2\.0/lbaas/(?:loadbalancers|listeners|pools|healthmonitors)(?:/([0-9A-Za-z_-]+)(?:/members)?)?$`)

func allowedWrite(r mutate.Request, ids []string) bool {
	parts := write.FindStringSubmatch(r.Path)
	switch {
	case parts == nil:
		return false
	case r.Method == http.MethodPost:
		return parts[1] == ""
	}
	return slices.Contains(ids, parts[1])
}

// FuzzBytes returns the same bytes as the response to all calls, including headers.
func FuzzBytes(f *testing.F) {
	for _, answer := range []string{
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"loadbalancers\": [{\"id\": \"lb1\", \"name\": \"kube_service_kubernetes_shop_web\"}], \"loadbalancers_links\": [{\"rel\": \"next\"}]}",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n13\r\n{\"loadbalancer\": {}}\r\n0\r\n\r\n",
		"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 99999999999\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n<html>",
		"HTTP/1.1 409 Conflict\r\nX-Openstack-Request-Id: req-1\r\n\r\n{\"faultcode\": \"Client\", \"faultstring\": \"Load Balancer lb1 is immutable and cannot be updated.\", \"debuginfo\": null}",
		"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"listeners\": [{\"id\": \"l1\", \"default_pool_id\": \"p1\"}], \"pools\": [{\"id\": \"p1\", \"healthmonitor_id\": \"m1\", \"members\": [{}]}], \"healthmonitor\": {\"id\": \"m1\"}, \"members\": []}",
		"HTTP/1.1 200 OK\r\n\r\n{\"statuses\": {\"loadbalancer\": {\"id\": \"lb1\", \"listeners\": [{\"pools\": [{\"health_monitor\": {}, \"members\": [null]}]}]}}}",
		"HTTP/1.1 302 Found\r\nLocation: http://octavia.test/elsewhere\r\n\r\n",
		"HTTP/1.1 300 Multiple Choices\r\n\r\n{\"versions\": []}",
	} {
		f.Add([]byte(answer))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		client := through(mutate.Raw(answer))
		for _, head := range append(heads(t, client), lb.LoadBalancer{ID: "lb1", Tags: owner.Tags()}) {
			observed, err := client.Observe(t.Context(), head)
			classified(t, err)
			tree, err := client.Tree(t.Context(), "lb1")
			if !classified(t, err) {
				_, _, _ = octavia.Confirm(observed, nil, tree)
			}
		}
		for _, op := range []diff.Op{
			diff.CreateLoadBalancer{LoadBalancer: wanted("subnet")}, diff.DeleteLoadBalancer{ID: "lb1"}, diff.SetMembers{PoolID: "p1"}, diff.CreatePool{LoadBalancerID: "lb1"},
		} {
			made, err := client.Apply(t.Context(), op)
			if _, creates := op.(diff.CreateLoadBalancer); !classified(t, err) && creates && made.ID == "" {
				t.Error("created without an id")
			}
		}
	})
}

func TestCircularPagesAreAnError(t *testing.T) {
	cloud := &mutate.Cloud{Words: words, Document: mutate.Parse([]byte(`{"GET /v2.0/lbaas/loadbalancers": [
		{"status": 200, "body": {"loadbalancers": [{"id": "a"}], "loadbalancers_links": [{"rel": "next"}]}},
		{"status": 200, "body": {"loadbalancers": [{"id": "b"}], "loadbalancers_links": [{"rel": "next"}]}},
		{"status": 200, "body": {"loadbalancers": [{"id": "a"}], "loadbalancers_links": [{"rel": "next"}]}}]}`))}
	if found, err := through(cloud).Heads(t.Context(), ""); openstack.Classify(err) != openstack.Transient || len(cloud.Requests) != 3 {
		t.Errorf("found %v, error %v, after %d calls", found, err, len(cloud.Requests))
	}
}
