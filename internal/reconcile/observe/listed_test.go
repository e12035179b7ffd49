// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"testing"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
)

// usedBy is the memory of a controller in which the Services use all load balancers.
type usedBy []owner.Key

func (usedBy) LoadBalancerOf(owner.Key) string          { return "" }
func (usedBy) MayAppear(owner.Key) bool                 { return false }
func (usedBy) CreateRejected(owner.Key, time.Time) bool { return false }
func (u usedBy) Users(string) []owner.Key               { return u }

func TestOnlyThePlainCaseIsTakenFromTheLists(t *testing.T) {
	ours := lb.Owner{ClusterName: "kubernetes", ClusterUID: "c-1", Namespace: "default", Name: "web", ServiceUID: "uid-1"}
	another := lb.Owner{ClusterName: "kubernetes", ClusterUID: "c-1", Namespace: "default", Name: "other", ServiceUID: "uid-2"}
	for name, c := range map[string]struct {
		edit func(*lb.Observed)
		used usedBy
		want bool
	}{
		"one of its own":              {func(*lb.Observed) {}, nil, true},
		"none":                        {func(o *lb.Observed) { o.LoadBalancer = nil }, nil, false},
		"PENDING":                     {func(o *lb.Observed) { o.LoadBalancer.ProvisioningStatus = lb.PendingUpdate }, nil, false},
		"ERROR":                       {func(o *lb.Observed) { o.LoadBalancer.ProvisioningStatus = lb.Error }, nil, false},
		"that of another":             {func(o *lb.Observed) { o.Sharer = true }, nil, false},
		"two":                         {func(o *lb.Observed) { o.Duplicates = []string{"lb-2"} }, nil, false},
		"two, one of them PENDING":    {func(o *lb.Observed) { o.Unsettled = []string{"lb-2"} }, nil, false},
		"a replacement":               {func(o *lb.Observed) { o.Predecessor = &lb.LoadBalancer{ID: "lb-2"} }, nil, false},
		"another Service has written": {func(*lb.Observed) {}, usedBy{owner.ServiceKey("default", "other")}, false},
		"a port of another Service": {func(o *lb.Observed) {
			o.LoadBalancer.Listeners = []lb.Listener{{Tags: another.Tags()}}
		}, nil, false},
		"the name of another Service": {func(o *lb.Observed) {
			o.LoadBalancer.Tags = append(o.LoadBalancer.Tags, another.LoadBalancerName())
		}, nil, false},
	} {
		o := lb.Observed{LoadBalancer: &lb.LoadBalancer{
			ID: "lb-1", Name: ours.LoadBalancerName(), Tags: ours.Tags(), ProvisioningStatus: lb.Active,
		}}
		c.edit(&o)
		if got := (&Observer{Remembered: c.used}).plain(o, ours); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
