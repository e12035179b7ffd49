// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

func TestACallThatFailsWith500IsTransientOnlyWhileItsObjectExists(t *testing.T) {
	const there, gone, deleted = "there", "gone", "deleted"
	// Octavia answers with 500 to everything except checks of existence: lists by id, and a load
	// balancer.
	serve := func(looks *[]string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			path, id := strings.TrimPrefix(r.URL.Path, "/v2.0/lbaas/"), r.URL.Query().Get("id")
			if r.Method == http.MethodGet && id != "" {
				*looks = append(*looks, path+"?"+id)
				text := `{"` + path + `": []}`
				if id == there {
					text = `{"` + path + `": [{"id": "there", "provisioning_status": "ACTIVE"}]}`
				}
				_, _ = io.WriteString(w, text)
				return
			}
			balancer, single := strings.CutPrefix(path, "loadbalancers/")
			if r.Method != http.MethodGet || !single || strings.Contains(balancer, "/") {
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			*looks = append(*looks, path)
			switch balancer {
			case there:
				_, _ = io.WriteString(w, `{"loadbalancer": {"id": "there", "provisioning_status": "ACTIVE"}}`)
			case deleted:
				_, _ = io.WriteString(w, `{"loadbalancer": {"id": "deleted", "provisioning_status": "DELETED"}}`)
			default:
				w.WriteHeader(http.StatusNotFound)
			}
		}
	}
	apply := func(op func(id string) diff.Op) func(*octavia.Client, string) error {
		return func(c *octavia.Client, id string) error {
			made, err := c.Apply(t.Context(), op(id))
			if err == nil && made.Missing {
				return &openstack.Error{Class: openstack.Gone} // checked below
			}
			return err
		}
	}
	for name, c := range map[string]struct {
		call func(*octavia.Client, string) error
		look string
	}{
		"change a load balancer":    {apply(func(id string) diff.Op { return diff.UpdateLoadBalancer{ID: id} }), "loadbalancers/"},
		"fail over a load balancer": {apply(func(id string) diff.Op { return diff.FailoverLoadBalancer{ID: id} }), "loadbalancers/"},
		"delete a load balancer":    {apply(func(id string) diff.Op { return diff.DeleteLoadBalancer{ID: id} }), "loadbalancers/"},
		"read a status tree": {func(c *octavia.Client, id string) error {
			_, err := c.Tree(t.Context(), id)
			return err
		}, "loadbalancers/"},
		"change a listener": {apply(func(id string) diff.Op { return diff.UpdateListener{ID: id} }), "listeners?"},
		"delete a listener": {apply(func(id string) diff.Op { return diff.DeleteListener{ID: id} }), "listeners?"},
		"change a pool":     {apply(func(id string) diff.Op { return diff.UpdatePool{ID: id} }), "pools?"},
		"set members":       {apply(func(id string) diff.Op { return diff.SetMembers{PoolID: id} }), "pools?"},
		"change a monitor":  {apply(func(id string) diff.Op { return diff.UpdateMonitor{ID: id} }), "healthmonitors?"},
		"set tags":          {apply(func(id string) diff.Op { return diff.SetTags{Of: "pool", ID: id} }), "pools?"},
	} {
		t.Run(name, func(t *testing.T) {
			for id, want := range map[string]openstack.Class{there: openstack.Transient, gone: openstack.Gone, deleted: openstack.Gone} {
				t.Run(id, func(t *testing.T) {
					var looks []string
					err := c.call(against(t, lb.Capabilities{}, serve(&looks)), id)
					if got := openstack.Classify(err); got != want {
						t.Errorf("class %s, want %s: %v", got, want, err)
					}
					if diff := cmp.Diff([]string{c.look + id}, looks); diff != "" {
						t.Errorf("looks (-want +got):\n%s", diff)
					}
				})
			}
		})
	}
}

func TestALoadBalancerThatCannotBeReadIsNotGone(t *testing.T) {
	calls := 0
	c := against(t, lb.Capabilities{}, func(w http.ResponseWriter, _ *http.Request) {
		calls++
		w.WriteHeader(http.StatusInternalServerError)
	})
	if _, err := c.Get(t.Context(), "lb-1"); openstack.Classify(err) != openstack.Transient || calls != 2 {
		t.Errorf("%v after %d calls", err, calls)
	}
}
