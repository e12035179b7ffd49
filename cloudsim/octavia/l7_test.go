// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/validate"
)

func TestL7PoliciesAndRulesCountForTheirQuotas(t *testing.T) {
	c := newCloud(t, Options{})
	lb := c.create(`"listeners": [{"protocol": "HTTP", "protocol_port": 80}]`)
	listener := c.call("GET", "/loadbalancers/"+lb, "").str("loadbalancer.listeners.0.id")
	c.as(admin, "PUT", "/quotas/"+alice.ProjectID, `{"quota": {"l7policy": 1, "l7rule": 1}}`).must(http.StatusAccepted)
	policy := fmt.Sprintf(`{"l7policy": {"listener_id": %q, "action": "REJECT"}}`, listener)
	id := c.settled(lb, c.call("POST", "/l7policies", policy)).str("l7policy.id")
	c.call("POST", "/l7policies", policy).refused(http.StatusForbidden, "Quota has been met for resources: L7 Policy")
	rules, rule := "/l7policies/"+id+"/rules", `{"rule": {"type": "PATH", "compare_type": "EQUAL_TO", "value": "/"}}`
	c.settled(lb, c.call("POST", rules, rule))
	c.call("POST", rules, rule).refused(http.StatusForbidden, "Quota has been met for resources: L7 Rule")
	c.settled(lb, c.call("DELETE", "/listeners/"+listener, ""))
	used := c.state.Quotas.Used(alice.ProjectID, model.PolicyQuota) + c.state.Quotas.Used(alice.ProjectID, model.RuleQuota)
	if left := c.state.Policies.Len() + c.state.Rules.Len(); used != 0 || left != 0 {
		t.Errorf("a deleted listener leaves %d policies and rules, and %d are counted", left, used)
	}
}

func TestAPolicyTakesAtMostFiftyRules(t *testing.T) {
	c := newCloud(t, Options{})
	rules := func(n int) string {
		list := ""
		for i := range n {
			if i > 0 {
				list += ","
			}
			list += `{"type": "PATH", "compare_type": "EQUAL_TO", "value": "/"}`
		}
		return fmt.Sprintf(`"listeners": [{"protocol": "HTTP", "protocol_port": 80, "l7policies": [{"action": "REJECT", "rules": [%s]}]}]`, list)
	}
	c.post(rules(validate.MostRules + 1)).must(http.StatusConflict)
	lb := c.create(rules(validate.MostRules))
	id := c.call("GET", "/l7policies", "").str("l7policies.0.id")
	c.call("POST", "/l7policies/"+id+"/rules", `{"rule": {"type": "PATH", "compare_type": "EQUAL_TO", "value": "/"}}`).
		refused(http.StatusConflict, "Too many rules on L7 policy "+id)
	c.as(alice, "DELETE", "/loadbalancers/"+lb+"?cascade=true", "").must(http.StatusNoContent)
	c.await(lb, "")
	if left := c.state.Policies.Len() + c.state.Rules.Len(); left != 0 {
		t.Errorf("a cascade delete leaves %d policies and rules", left)
	}
}
