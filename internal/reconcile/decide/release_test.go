// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"errors"
	"testing"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
)

func TestServiceIsReleasedWhenNothingIsLeftInTheCloud(t *testing.T) {
	f := deleted(factsOf(web(), "10.0.0.11"))
	own, shared := f.built("lb-1"), f.built("lb-1")
	shared.Tags, shared.Listeners = []string{"kube_service_kubernetes_default_api"}, nil
	for name, c := range map[string]struct {
		cloud memory.Cloud
		want  bool
	}{
		"nothing":                    {memory.Cloud{Known: true}, true},
		"unknown":                    {memory.Cloud{}, false},
		"create without an answer":   {memory.Cloud{Known: true, Unanswered: noon}, false},
		"load balancer":              {memory.Cloud{Known: true, Observed: lb.Observed{LoadBalancer: &own}}, false},
		"shared, without own ports":  {memory.Cloud{Known: true, Observed: lb.Observed{LoadBalancer: &shared, Sharer: true}}, true},
		"predecessor":                {memory.Cloud{Known: true, Observed: lb.Observed{Predecessor: &own}}, false},
		"duplicate":                  {memory.Cloud{Known: true, Observed: lb.Observed{Duplicates: []string{"lb-2"}}}, false},
		"duplicate, PENDING":         {memory.Cloud{Known: true, Observed: lb.Observed{Unsettled: []string{"lb-2"}}}, false},
		"floating IP of the Service": {memory.Cloud{Known: true, Observed: lb.Observed{FloatingIPs: []lb.FloatingIP{{ID: "f", Description: webOwner.FloatingIPDescription()}}}}, false},
		"floating IP of a person":    {memory.Cloud{Known: true, Observed: lb.Observed{FloatingIPs: []lb.FloatingIP{{ID: "f"}}}}, true},
	} {
		f.Record.Cloud = c.cloud
		if d := Decide(f); d.Action != Release || Released(f, d) != c.want {
			t.Errorf("%s: action %q, ops %v, released: want %t", name, d.Action, kinds(d.Plan.Ops), c.want)
		}
	}
}

func TestNothingIsDeletedForAServiceThatWillBeCreatedAgain(t *testing.T) {
	f := deleted(factsOf(web(), "10.0.0.11"))
	for name, l := range map[string]lb.LoadBalancer{"ACTIVE": f.built("lb-1"), "in ERROR": failed(f.built("lb-1"))} {
		f := f.with(l)
		if d := Decide(f); len(d.Plan.Ops) == 0 || Released(f, d) {
			t.Fatalf("%s: otherwise, ops %v", name, kinds(d.Plan.Ops))
		}
		returning := webOwner
		returning.Returns = true
		f.Owner.Identity = returning
		if d := Decide(f); len(d.Plan.Ops) > 0 || !Released(f, d) {
			t.Errorf("%s: ops %v, released %t", name, kinds(d.Plan.Ops), Released(f, d))
		}
	}
}

// Memory may be old: another Service may share the load balancer by now.
func TestNothingIsDeletedWhenTheCloudCouldNotBeRead(t *testing.T) {
	f := deleted(factsOf(web(), "10.0.0.11"))
	f = f.with(f.built("lb-1"))
	f.Desired.Err = errors.New("no answer")
	if d := Decide(f); len(d.Plan.Ops) > 0 || d.Goal.Err == nil {
		t.Errorf("ops %v, error %v", kinds(d.Plan.Ops), d.Goal.Err)
	}
}

func TestALoadBalancerThatIsActiveAgainIsNotDeletedTwiceWhileItsProviderMayFinishLate(t *testing.T) {
	for name, test := range map[string]struct {
		provider string
		delay    time.Duration
	}{
		"ovn":     {lb.ProviderOVN, time.Second},
		"amphora": {lb.ProviderAmphora, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := deleted(factsOf(web(), "10.0.0.11"))
			f.Capabilities.APIVersion = lb.Version{Major: 2, Minor: 30}
			l := f.built("lb-1")
			l.Provider = test.provider
			f = f.with(l)
			f.Record.Recovery.Deletions = timing.Tries{Count: 1, Next: noon.Add(time.Second)}
			if d := Decide(f); d.Delay != test.delay || (len(d.Plan.Ops) == 0) != (test.delay > 0) {
				t.Errorf("delay %v, ops %v", d.Delay, kinds(d.Plan.Ops))
			}
		})
	}
}

func TestFailedDeletionIsRetriedLater(t *testing.T) {
	f := deleted(factsOf(web(), "10.0.0.11"))
	f = f.with(failed(f.built("lb-1")))
	f.Record.Recovery.Deletions = timing.Tries{Count: 1, Next: noon.Add(time.Second)}
	if d := Decide(f); d.Delay != time.Second || len(d.Plan.Ops) > 0 || d.Record.Progress.Trouble == "" {
		t.Errorf("delay %v, ops %v, trouble %q", d.Delay, kinds(d.Plan.Ops), d.Record.Progress.Trouble)
	}
	f.Now = noon.Add(time.Second)
	if d := Decide(f); d.Delay > 0 || len(d.Plan.Ops) == 0 {
		t.Errorf("delay %v, ops %v", d.Delay, kinds(d.Plan.Ops))
	}
	f.Record.Recovery.Discards = timing.Tries{Count: 1, Next: noon.Add(time.Minute)}
	f.Record.Cloud.Observed = lb.Observed{Duplicates: []string{"lb-2"}}
	if d := Decide(f); d.Delay == 0 || len(d.Plan.Ops) > 0 || !d.Postponed {
		t.Errorf("a duplicate: delay %v, ops %v", d.Delay, kinds(d.Plan.Ops))
	}
}
