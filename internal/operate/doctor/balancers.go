// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/operate/othercontroller"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// operatingError is the operating status of a load balancer or pool that serves no client.
const operatingError = "ERROR"

// pendingLong is longer than a change of a load balancer normally takes.
const pendingLong = 15 * time.Minute

// checkLoadBalancers checks the load balancers of the cluster and the conditions of its Services.
func checkLoadBalancers(f facts, r *Result) {
	if f.Cluster.Services.OK() {
		checkConditions(f, r)
	} else {
		r.Has(f.Cluster.Services.Missing, "kubectl get services -A")
	}
	if _, ok := f.configured(r); !ok || !r.Has(f.Cloud.Octavia.Balancers.Missing, "openstack loadbalancer list") {
		return
	}
	// Without the Services and the uid it is unknown which load balancers belong to this cluster.
	if !f.Cluster.Services.OK() || !r.Has(f.Cluster.UID.Missing, "kubectl get namespace kube-system") {
		return
	}
	checkOwnership(f, r)
	n := 0
	for _, b := range f.Cloud.Octavia.Balancers.Value {
		if f.mine(b) {
			n++
			checkBalancer(f, r, b)
		}
	}
	r.Saw("the cluster has " + Plural(n, "load balancer"))
}

// mine reports whether the load balancer belongs to a Service of the cluster.
func (f facts) mine(b Balancer) bool {
	if uid := lb.ClusterUIDOf(b.Tags); uid != "" {
		return uid == f.Policy.ClusterUID
	}
	for _, s := range served(f) {
		if annotation.Value(s.Annotations, annotation.LoadBalancerID) == b.ID || f.Policy.Owner(&s).LoadBalancerName() == b.Name {
			return true
		}
	}
	return false
}

func checkBalancer(f facts, r *Result, b Balancer) {
	which := fmt.Sprintf("load balancer %s (%s)", b.Name, b.ID)
	show := fmt.Sprintf("Look at it: `openstack loadbalancer status show %s`; ", b.ID)
	switch since, known := time.Parse("2006-01-02T15:04:05", b.UpdatedAt); {
	case b.ProvisioningStatus == lb.Error:
		r.Found(Error, which+" is in ERROR", "It may not serve, and Octavia does not change it.",
			show+"`openstack loadbalancer failover "+b.ID+"` repairs most causes. The controller tries that, too, and replaces it.")
	case b.ProvisioningStatus.Pending() && known == nil && f.Now.Sub(since) > pendingLong:
		r.Found(Error, fmt.Sprintf("%s has been %s for %s", which, b.ProvisioningStatus, othercontroller.Ago(f.Now, since)), "Octavia does not change it meanwhile, and usually this does not end by itself.",
			show+"the operator of the cloud must repair it, for example by restarting octavia-worker: no command of a user changes a load balancer that is "+string(b.ProvisioningStatus)+".")
	case b.ProvisioningStatus == lb.Active && unfinished(b) != "":
		r.Found(Warning, fmt.Sprintf("%s is ACTIVE, but %s", which, unfinished(b)), "This port may not serve.",
			show+"the controller repairs it. If it does not, set provider-requires-serial-api-calls = true in [LoadBalancer].")
	case b.ProvisioningStatus == lb.Active && b.OperatingStatus == operatingError:
		r.Found(Warning, which+" has operating status ERROR", "Octavia's health checks reach no member of a pool, so clients of its port get no answer.",
			show+"compare its members with the endpoints of the Service (`kubectl get endpointslices -A`), and see check security-groups: the members must admit health checks from the load balancer.")
	}
}

// unfinished returns a child that Octavia has not finished, or "".
func unfinished(b Balancer) string {
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
func checkConditions(f facts, r *Result) {
	all := byCause{}
	services := served(f)
	for _, s := range services {
		if c := status.WhyNotProgrammed(s.Status.Conditions); c != nil {
			all.add(*c, s)
		}
	}
	for _, group := range all.sorted() {
		verb := "are"
		if len(group.services) == 1 {
			verb = "is"
		}
		what := fmt.Sprintf("%s %s not programmed, reason %s", Some("Service", group.services), verb, group.reason)
		if group.message != "" {
			what += ": " + group.message
		}
		r.Found(Warning, what, "The Service is not served as its spec requests.", "Reason "+group.reason+" is explained in docs/reference/conditions.md. "+lookAt(group.services[0]))
	}
	checkServing(services, r)
	r.Saw(Plural(len(services), "Service") + " to serve")
}

// lookAt returns the commands that show more about a Service, NAMESPACE/NAME. `kubectl describe` does not
// show conditions.
func lookAt(service string) string {
	namespace, name, _ := strings.Cut(service, "/")
	return fmt.Sprintf("`kube-octavia status %s` shows its state, and `kubectl describe service -n %s %s` its events.", service, namespace, name)
}

// affected has the Services with the same reason and message of a condition.
type affected struct {
	reason, message string
	services        []string
}

// byCause has Services by reason and message, so that different failures are not combined.
type byCause map[[2]string][]string

func (all byCause) add(c metav1.Condition, s corev1.Service) {
	cause := [2]string{c.Reason, c.Message}
	all[cause] = append(all[cause], name(s))
}

func (all byCause) sorted() (groups []affected) {
	for cause, services := range all {
		groups = append(groups, affected{cause[0], cause[1], services})
	}
	slices.SortFunc(groups, func(a, b affected) int {
		return cmp.Or(cmp.Compare(a.reason, b.reason), cmp.Compare(a.message, b.message))
	})
	return groups
}

// checkOrphans reports cloud objects that no Service uses, and VIP ports that Octavia left behind.
func checkOrphans(f facts, r *Result) {
	if _, ok := f.configured(r); !ok {
		return
	}
	if r.Has(f.Cloud.Orphans.Missing, "kube-octavia status") {
		r.Saw(Plural(len(f.Cloud.Orphans.Value), "orphan"))
		for _, o := range f.Cloud.Orphans.Value {
			r.Found(Warning, fmt.Sprintf("%s %s (%s) was created for %s, which does not exist or no longer uses it", o.Kind, o.ID, o.Name, o.Services()),
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
			r.Found(Warning, fmt.Sprintf("port %s (%s) is the VIP of load balancer %s, which does not exist", p.ID, p.Name, p.LoadBalancerID),
				"Octavia left it behind. It takes quota and an address.", "If nothing uses it, delete it: `openstack port delete "+p.ID+"`.")
		}
	}
}

// checkServing reports Services whose clients get no answer, by the reason of condition Serving. A port that is not open is
// reported by condition Programmed.
func checkServing(services []corev1.Service, r *Result) {
	all := byCause{}
	for _, s := range services {
		c := meta.FindStatusCondition(s.Status.Conditions, status.Serving)
		if c != nil && c.Status == metav1.ConditionFalse && c.Reason != status.ReasonNotProgrammed {
			all.add(*c, s)
		}
	}
	for _, group := range all.sorted() {
		r.Found(Warning, fmt.Sprintf("%s: nothing answers clients, reason %s: %s", Some("Service", group.services), group.reason, group.message),
			"Clients get no answer from the ports that the message names.",
			"Reason "+group.reason+" of condition Serving is explained in docs/reference/conditions.md. "+lookAt(group.services[0]))
	}
}
