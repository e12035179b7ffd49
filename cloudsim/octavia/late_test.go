// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/cloudsim/release"
)

// lateStatuses returns the statuses of a listener when its load balancer is ACTIVE after its create and after its
// deletion, and two seconds later.
func lateStatuses(t *testing.T, r release.Release, provider string) (statuses []string) {
	c := newCloud(t, Options{Release: r, APIVersion: "2.27", UpdateTime: time.Second})
	lb := c.create(fmt.Sprintf(`"provider": %q`, provider))
	listener := c.call("POST", "/listeners", fmt.Sprintf(`{"listener": {"loadbalancer_id": %q, "protocol": "TCP", "protocol_port": 80}}`, lb)).must(201).str("listener.id")
	note := func() {
		c.await(lb, "ACTIVE")
		for range 2 {
			a := c.call("GET", "/listeners/"+listener, "")
			if a.status == 404 {
				statuses = append(statuses, "gone")
			} else {
				statuses = append(statuses, a.must(200).str("listener.provisioning_status"))
			}
			time.Sleep(2 * time.Second)
		}
	}
	note()
	c.call("DELETE", "/listeners/"+listener, "").must(204)
	note()
	return statuses
}

func TestProviderOVNOfNewerReleasesReportsChildrenLaterThanTheLoadBalancer(t *testing.T) {
	at := []string{"ACTIVE", "ACTIVE", "gone", "gone"}
	for name, test := range map[string]struct {
		release  release.Release
		provider string
		want     []string
	}{
		"ovn of 2022.2":     {release.Zed, "ovn", at},
		"amphora of 2025.1": {release.Epoxy, "amphora", at},
		"ovn of 2025.1":     {release.Epoxy, "ovn", []string{"PENDING_CREATE", "ACTIVE", "PENDING_DELETE", "gone"}},
		"ovn of the newest": {release.Newest, "ovn", []string{"PENDING_CREATE", "ACTIVE", "PENDING_DELETE", "gone"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if diff := cmp.Diff(test.want, lateStatuses(t, test.release, test.provider)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// memberStatuses returns the statuses of two members when their load balancer is ACTIVE after a batch that removes the
// second one, and two seconds later.
func memberStatuses(t *testing.T, r release.Release) (statuses []string) {
	c := newCloud(t, Options{Release: r, Provider: "ovn", UpdateTime: time.Second})
	lb := c.create("")
	pool := c.settled(lb, c.call("POST", "/pools", fmt.Sprintf(`{"pool": {"loadbalancer_id": %q, "protocol": "TCP", "lb_algorithm": "SOURCE_IP_PORT"}}`, lb))).str("pool.id")
	members := func(addresses ...string) {
		for i, address := range addresses {
			addresses[i] = fmt.Sprintf(`{"address": %q, "protocol_port": 80}`, address)
		}
		c.call("PUT", "/pools/"+pool+"/members", `{"members": [`+strings.Join(addresses, ",")+`]}`).must(202)
		c.await(lb, "ACTIVE")
	}
	time.Sleep(2 * time.Second)
	members("10.0.0.11", "10.0.0.12")
	time.Sleep(2 * time.Second)
	members("10.0.0.11")
	for range 2 {
		for _, m := range c.call("GET", "/pools/"+pool+"/members?sort=address", "").must(200).get("members").([]any) {
			statuses = append(statuses, fmt.Sprint(m.(map[string]any)["address"], " ", m.(map[string]any)["provisioning_status"]))
		}
		time.Sleep(2 * time.Second)
	}
	return statuses
}

func TestProviderOVNOfNewerReleasesShowsMembersThatItRemovesAsActive(t *testing.T) {
	for r, want := range map[release.Release][]string{
		release.Zed:    {"10.0.0.11 ACTIVE", "10.0.0.11 ACTIVE"},
		release.Epoxy:  {"10.0.0.11 ACTIVE", "10.0.0.12 ACTIVE", "10.0.0.11 ACTIVE"},
		release.Newest: {"10.0.0.11 ACTIVE", "10.0.0.12 ACTIVE", "10.0.0.11 ACTIVE"},
	} {
		t.Run(fmt.Sprint(r), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if diff := cmp.Diff(want, memberStatuses(t, r)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestALoadBalancerIsDeletedWhileItsChildrenAreLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(t, Options{Release: release.Epoxy, Provider: "ovn", UpdateTime: time.Second})
		lb := c.create("")
		c.settled(lb, c.call("POST", "/listeners", fmt.Sprintf(`{"listener": {"loadbalancer_id": %q, "protocol": "TCP", "protocol_port": 80}}`, lb)))
		c.call("DELETE", "/loadbalancers/"+lb+"?cascade=true", "").must(204)
		c.await(lb, "")
		time.Sleep(2 * time.Second)
	})
}
