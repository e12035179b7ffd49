// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/operate/doctor"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// condition returns a condition that is False.
func condition(kind, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(time.Unix(0, 0))}
}

// annotated sets an annotation of Service web.
func annotated(key, value string) func(*setup) {
	return func(s *setup) {
		s.change(s.web, func(web *corev1.Service) { web.Annotations[key] = value })
	}
}

// deleteWeb deletes the Service, which leaves its load balancer.
func deleteWeb(s *setup) {
	s.must(s.kube.CoreV1().Services(s.web.Namespace).Delete(s.ctx(), s.web.Name, metav1.DeleteOptions{}))
}

// failMembers lets the health checks of the load balancer fail.
func failMembers(s *setup) {
	s.spoilBalancer()
	var pools struct{ Pools []struct{ ID string } }
	s.do(cloudsim.LoadBalancer, http.MethodGet, "/v2.0/lbaas/pools?loadbalancer_id="+s.balancer, nil, &pools)
	for _, pool := range pools.Pools {
		var members struct{ Members []struct{ ID string } }
		s.do(cloudsim.LoadBalancer, http.MethodGet, "/v2.0/lbaas/pools/"+pool.ID+"/members", nil, &members)
		for _, m := range members.Members {
			s.cloud.failMember(s, m.ID)
		}
	}
}

var ofLoadBalancers = []situation{
	{name: "A load balancer is in ERROR", arise: func(s *setup) {
		s.spoilBalancer()
		s.cloud.failBalancer(s, s.balancer)
	},
		check: doctor.LoadBalancers, status: doctor.Error, what: "is in ERROR", do: "openstack loadbalancer failover"},
	{name: "A load balancer has operating status ERROR", arise: failMembers,
		check: doctor.LoadBalancers, status: doctor.Warning, what: "has operating status ERROR", do: "kubectl get endpointslices"},
	{name: "A listener is in ERROR", arise: func(s *setup) {
		var found struct{ Listeners []struct{ ID string } }
		s.do(cloudsim.LoadBalancer, http.MethodGet, "/v2.0/lbaas/listeners?loadbalancer_id="+s.balancer, nil, &found)
		s.spoilBalancer()
		s.cloud.failListener(s, found.Listeners[0].ID)
	}, check: doctor.LoadBalancers, status: doctor.Warning, what: "its listener listener is ERROR", do: "the controller repairs it"},
	{name: "Services name load balancers that the project does not have", arise: func(s *setup) {
		s.conf = s.cloud.conf()
		s.global("username", s.cloud.other.User)
		s.global("password", s.cloud.other.Password)
		s.global("tenant-id", s.cloud.other.ProjectID)
	}, check: doctor.LoadBalancers, status: doctor.Error, what: "is that of no load balancer of project", do: "correct the project or region in [Global] of cloud.conf before a controller starts",
		also: []doctor.Check{doctor.Credentials, doctor.Networks, doctor.SecurityGroups}},
	{name: "One of two load balancers was deleted", arise: func(s *setup) {
		s.create("api", func(api *corev1.Service) { api.Annotations = map[string]string{annotation.LoadBalancerID: unusedID} })
	}, check: doctor.LoadBalancers, status: doctor.Warning, what: "it has 1 of the 2 load balancers that Services name", do: "If it was deleted, the controller creates another one"},
	{name: "--cluster-name is another one", arise: func(s *setup) {
		s.args = []string{"--cluster-name=prod"}
		s.change(s.web, func(web *corev1.Service) { web.Annotations = nil })
	}, check: doctor.LoadBalancers, status: doctor.Error, what: "--cluster-name is prod, but the load balancers that exist for Service default/web have the cluster name kubernetes", do: "They have the uid of this cluster: set --cluster-name=kubernetes",
		also: []doctor.Check{doctor.Orphans}},
	{name: "--cluster-name is another one than that of openstack-cloud-controller-manager", arise: func(s *setup) {
		s.args = []string{"--cluster-name=prod"}
		api := s.create("api", nil)
		owner := s.ownerOf(api)
		s.anotherBalancer(owner.LoadBalancerName(), owner.Description(), []string{owner.LoadBalancerName()})
	}, check: doctor.LoadBalancers, status: doctor.Warning, what: "the load balancers that exist for Service default/api have the cluster name kubernetes", do: "set --cluster-name=kubernetes"},
	{name: "A load balancer of another cluster has the name of a Service", arise: func(s *setup) {
		owner := s.ownerOf(s.create("api", nil))
		owner.ClusterUID = unusedID
		s.anotherBalancer(owner.LoadBalancerName(), owner.Description(), []string{lb.ClusterTag(owner.ClusterUID), owner.ServiceTag()})
	}, check: doctor.LoadBalancers, status: doctor.Warning, what: "has the name of Service default/api, but belongs to cluster", do: "kube-octavia cleanup --cloud-config=FILE --cluster-uid=", lie: "another --cluster-name"},
	{name: "--load-balancer-class is another one", arise: func(s *setup) {
		s.args = []string{"--handle-default-class=false"}
		deleteWeb(s)
		s.deleteBalancer(s.balancer)
		s.create("api", func(api *corev1.Service) { api.Spec.LoadBalancerClass = ptr.To("example.com/other") })
	}, check: doctor.LoadBalancers, status: doctor.Warning, what: `because spec.loadBalancerClass is "example.com/other"`, do: "set --load-balancer-class to the class of the Services"},
	{name: "--handle-default-class is false", arise: func(s *setup) {
		s.args = []string{"--handle-default-class=false"}
		deleteWeb(s)
		s.deleteBalancer(s.balancer)
		s.create("api", nil)
	}, check: doctor.LoadBalancers, status: doctor.Warning, what: "it has no spec.loadBalancerClass, and --handle-default-class is false", do: "--handle-default-class=true"},
	{name: "A Service is refused", arise: func(s *setup) {
		s.setConditions(s.web, condition(status.Accepted, "InvalidSourceRanges", "source range 300.0.0.0/8 is not a CIDR"), condition(status.Programmed, status.ReasonNotAccepted, "see condition Accepted"))
	}, check: doctor.LoadBalancers, status: doctor.Warning, what: "reason InvalidSourceRanges: source range 300.0.0.0/8 is not a CIDR", do: "docs/reference/conditions.md"},
	{name: "Two Services wait for two reasons", arise: func(s *setup) {
		s.setConditions(s.web, condition(status.Programmed, "QuotaExceeded", "no more load balancers"))
		s.setConditions(s.create("api", nil), condition(status.Programmed, "QuotaExceeded", "no more floating IPs"))
	}, check: doctor.LoadBalancers, status: doctor.Warning, what: "Service default/web is not programmed, reason QuotaExceeded: no more load balancers", do: "kubectl describe service"},
	{name: "Nothing answers the clients of a Service", arise: func(s *setup) {
		s.setConditions(s.web, condition(status.Serving, "NoEndpoints", "the Service has no ready endpoint"))
	},
		check: doctor.LoadBalancers, status: doctor.Warning, what: "nothing answers clients, reason NoEndpoints", do: "condition Serving"},
	{name: "An annotation has a value that it does not take", arise: annotated("kube-octavia.io/max-members", "many"),
		check: doctor.Features, status: doctor.Error, what: "InvalidAnnotation", do: "Correct the annotations that the message names", lie: "provider that has the feature"},
	{name: "A source range is none", arise: func(s *setup) {
		s.change(s.web, func(web *corev1.Service) { web.Spec.LoadBalancerSourceRanges = []string{"300.0.0.0/8"} })
	}, check: doctor.Features, status: doctor.Error, what: "InvalidSourceRanges", do: "Correct the source ranges", lie: "provider that has the feature"},
	{name: "A Service requests what provider ovn does not have", arise: func(s *setup) {
		s.balancing("lb-provider = ovn")
		annotated("loadbalancer.openstack.org/x-forwarded-for", "true")(s)
	}, check: doctor.Features, status: doctor.Error, what: "Unsupported", do: "use a cloud or provider that has the feature", also: []doctor.Check{doctor.Providers}},
	{name: "A load balancer has lost its Service", arise: deleteWeb,
		check: doctor.Orphans, status: doctor.Warning, what: "which does not exist or no longer uses it", do: "--orphan-grace-period"},
	{name: "Octavia left the port of a VIP", arise: func(s *setup) {
		s.addPort(map[string]any{"name": "octavia-lb-" + unusedID, "device_id": "lb-" + unusedID, "device_owner": "Octavia"})
	}, check: doctor.Orphans, status: doctor.Warning, what: "is the VIP of load balancer", do: "openstack port delete"},
}
