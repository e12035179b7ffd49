// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
)

func TestServiceWithAnotherLoadBalancerThanItsGroupIsRefused(t *testing.T) {
	const one, two = "11111111-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222"
	for name, c := range map[string]struct {
		// recorded is the id on the Service web, and known the id of the load balancer that it is known to have. Observed is
		// the one that was found for it.
		recorded, known, observed string
		// other is the load balancer of Service a of the group, which is older unless it is young.
		other  string
		young  bool
		exist  map[string]string
		reason string
	}{
		"the group has none":              {observed: one},
		"the same":                        {recorded: one, known: one, observed: one, other: one},
		"another":                         {recorded: one, known: one, observed: one, other: two, exist: map[string]string{two: "ACTIVE"}, reason: desired.ReasonRequiresReplacement},
		"another, which does not exist":   {recorded: one, known: one, observed: one, other: two},
		"another, which is being deleted": {recorded: one, known: one, observed: one, other: two, exist: map[string]string{two: "PENDING_DELETE"}},
		"a new one, without id yet":       {recorded: two, known: two, observed: one, young: true, exist: map[string]string{two: "ACTIVE"}},
		"one requested by id too":         {recorded: one, other: two, reason: desired.ReasonInvalidAnnotation},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				id := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
				if c.exist[id] == "" {
					w.WriteHeader(http.StatusNotFound)
					return
				}
				fmt.Fprintf(w, `{"loadbalancer": {"id": %q, "provisioning_status": %q}}`, id, c.exist[id])
			}))
			defer server.Close()
			client := &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{}, Endpoint: server.URL + "/v2.0/", Type: "load-balancer"}
			b := &Builder{Octavia: octavia.New(client, "", lb.Capabilities{})}
			web := claim.Owner{UID: "uid-web", Group: "default/g", Spec: &desired.Spec{}}
			web.Recorded.LoadBalancerID = c.recorded
			group := []decide.GroupMember{
				{Owner: claim.Owner{UID: "uid-a", Group: "default/g"}, LoadBalancerID: c.other},
				{Owner: web, LoadBalancerID: c.known},
			}
			if c.young {
				group[0], group[1] = group[1], group[0]
			}
			var observed lb.Observed
			if c.observed != "" {
				observed.LoadBalancer = &lb.LoadBalancer{ID: c.observed}
			}
			err := b.checkGroup(t.Context(), decide.Facts{Owner: web, Group: group}, observed)
			reason := ""
			if refused, is := errors.AsType[*desired.Invalid](err); is {
				reason = refused.Reason
			}
			if reason != c.reason || err != nil && reason == "" {
				t.Errorf("%v, want reason %q", err, c.reason)
			}
		})
	}
}
