// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/diagnosis"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/othercontroller"
	"github.com/kube-octavia/kube-octavia/internal/status"
)

// pendingLong is how long a change of a load balancer usually takes at most.
const pendingLong = 15 * time.Minute

// checkLoadBalancers looks at the load balancers of the cluster, and at the conditions of its Services.
func checkLoadBalancers(f facts, r *diagnosis.Result) {
	if f.Cluster.Services.OK() {
		checkConditions(f, r)
	} else {
		r.Has(f.Cluster.Services.Missing, "kubectl get services -A")
	}
	if _, ok := f.configured(r); !ok || !r.Has(f.Cloud.Octavia.Balancers.Missing, "openstack loadbalancer list") {
		return
	}
	// Without the Services and the uid it is not known which load balancers are of this cluster.
	if !f.Cluster.Services.OK() || !r.Has(f.Cluster.UID.Missing, "kubectl get namespace kube-system") {
		return
	}
	n := 0
	for _, b := range f.Cloud.Octavia.Balancers.Value {
		if f.mine(b) {
			n++
			checkBalancer(f, r, b)
		}
	}
	r.Saw("the cluster has " + diagnosis.Plural(n, "load balancer"))
}

// mine reports whether the load balancer belongs to a Service of the cluster.
func (f facts) mine(b diagnosis.Balancer) bool {
	if uid := lb.ClusterUIDOf(b.Tags); uid != "" {
		return uid == f.Policy.ClusterUID
	}
	for _, s := range served(f) {
		if s.Annotations[annotation.LoadBalancerID] == b.ID || f.Policy.Owner(&s).LoadBalancerName() == b.Name {
			return true
		}
	}
	return false
}

func checkBalancer(f facts, r *diagnosis.Result, b diagnosis.Balancer) {
	which := fmt.Sprintf("load balancer %s (%s)", b.Name, b.ID)
	show := fmt.Sprintf("Look at it: `openstack loadbalancer status show %s`; ", b.ID)
	switch since, known := time.Parse("2006-01-02T15:04:05", b.UpdatedAt); {
	case b.ProvisioningStatus == lb.Error:
		r.Found(diagnosis.Error, which+" is in ERROR", "It may not serve, and Octavia changes nothing of it.",
			show+"`openstack loadbalancer failover "+b.ID+"` repairs most causes. The controller tries that, too, and replaces it.")
	case b.ProvisioningStatus.Pending() && known == nil && f.Now.Sub(since) > pendingLong:
		r.Found(diagnosis.Error, fmt.Sprintf("%s has been %s for %s", which, b.ProvisioningStatus, othercontroller.Ago(f.Now, since)), "Octavia changes nothing of it meanwhile, and usually it never ends by itself.",
			show+"the operator of the cloud has to repair it: `openstack loadbalancer status reset` or a restart of octavia-worker.")
	case b.ProvisioningStatus == lb.Active && unfinished(b) != "":
		r.Found(diagnosis.Warning, fmt.Sprintf("%s is ACTIVE, but %s", which, unfinished(b)), "This port may not serve.",
			show+"the controller repairs it. If it does not, set provider-requires-serial-api-calls = true in [LoadBalancer].")
	}
}

// unfinished names a child that Octavia has not finished, or returns "".
func unfinished(b diagnosis.Balancer) string {
	for _, l := range b.Listeners {
		if l.ProvisioningStatus.Pending() || l.ProvisioningStatus == lb.Error {
			return fmt.Sprintf("its listener %s is %s", l.Name, l.ProvisioningStatus)
		}
		if l.Pool != nil && (l.Pool.ProvisioningStatus.Pending() || l.Pool.ProvisioningStatus == lb.Error) {
			return fmt.Sprintf("its pool %s is %s", l.Pool.Name, l.Pool.ProvisioningStatus)
		}
	}
	return ""
}

// checkConditions reports Services that are not programmed, by reason.
func checkConditions(f facts, r *diagnosis.Result) {
	byReason, messages := map[string][]string{}, map[string]string{}
	services := served(f)
	for _, s := range services {
		if c := meta.FindStatusCondition(s.Status.Conditions, status.Programmed); c != nil && c.Status == metav1.ConditionFalse {
			byReason[c.Reason] = append(byReason[c.Reason], name(s))
			messages[c.Reason] = c.Message
		}
	}
	for _, reason := range sortedKeys(byReason) {
		verb := "are"
		if len(byReason[reason]) == 1 {
			verb = "is"
		}
		what := fmt.Sprintf("%s %s not programmed, reason %s", diagnosis.Some("Service", byReason[reason]), verb, reason)
		if messages[reason] != "" {
			what += ": " + messages[reason]
		}
		r.Found(diagnosis.Warning, what, "The Service is not served as it is written.", "Reason "+reason+" is explained in docs/reference/conditions.md. `kubectl describe service -n NAMESPACE NAME` shows conditions and events.")
	}
	checkServing(services, r)
	r.Saw(diagnosis.Plural(len(services), "Service") + " to serve")
}

// checkOrphans reports cloud objects that no Service uses, and VIP ports that Octavia left behind.
func checkOrphans(f facts, r *diagnosis.Result) {
	if _, ok := f.configured(r); !ok {
		return
	}
	if r.Has(f.Cloud.Orphans.Missing, "kube-octavia status") {
		r.Saw(diagnosis.Plural(len(f.Cloud.Orphans.Value), "orphan"))
		for _, o := range f.Cloud.Orphans.Value {
			r.Found(diagnosis.Warning, fmt.Sprintf("%s %s (%s) was created for %s, which does not exist or no longer uses it", o.Kind, o.ID, o.Name, o.Services()),
				"It takes quota and addresses.", "A running controller deletes it after --orphan-grace-period, or never if it has --orphan-grace-period=never. `kube-octavia status` shows all orphans.")
		}
	}
	if !f.Cloud.Network.Ports.OK() || !f.Cloud.Octavia.Balancers.OK() {
		return
	}
	exists := map[string]bool{}
	for _, b := range f.Cloud.Octavia.Balancers.Value {
		exists[b.ID], exists[b.VIP.PortID] = true, true
	}
	for _, p := range f.Cloud.Network.Ports.Value {
		if p.LoadBalancerID != "" && !exists[p.LoadBalancerID] && !exists[p.ID] {
			r.Found(diagnosis.Warning, fmt.Sprintf("port %s (%s) is the VIP of load balancer %s, which does not exist", p.ID, p.Name, p.LoadBalancerID),
				"Octavia left it behind. It takes quota and an address.", "If nothing uses it, delete it: `openstack port delete "+p.ID+"`.")
		}
	}
}

// checkServing reports Services whose clients get no answer, by the reason of condition Serving. A port that is not open is
// reported by condition Programmed.
func checkServing(services []corev1.Service, r *diagnosis.Result) {
	byReason, messages := map[string][]string{}, map[string]string{}
	for _, s := range services {
		c := meta.FindStatusCondition(s.Status.Conditions, status.Serving)
		if c != nil && c.Status == metav1.ConditionFalse && c.Reason != status.ReasonNotProgrammed {
			byReason[c.Reason] = append(byReason[c.Reason], name(s))
			messages[c.Reason] = c.Message
		}
	}
	for _, reason := range sortedKeys(byReason) {
		r.Found(diagnosis.Warning, fmt.Sprintf("%s: nothing answers clients, reason %s: %s", diagnosis.Some("Service", byReason[reason]), reason, messages[reason]),
			"Clients get no answer from the ports that the message names.",
			"Reason "+reason+" of condition Serving is explained in docs/reference/conditions.md. `kubectl describe service -n NAMESPACE NAME` shows conditions and events.")
	}
}
