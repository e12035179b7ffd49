// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// checkOwnership compares the load balancers of the project with those that the Services name, by id or by name. A
// mismatch shows that the project, the region, --cluster-name or --load-balancer-class is wrong.
func checkOwnership(f facts, r *Result) {
	checkNoServiceServed(f, r)
	checkNamedByID(f, r)
	checkClusterName(f, r)
	checkOtherClusters(f, r)
}

// checkNoServiceServed reports that there are Services of type LoadBalancer, but that these flags select none of
// them.
func checkNoServiceServed(f facts, r *Result) {
	if len(served(f)) > 0 {
		return
	}
	reasons := map[string][]string{}
	for _, s := range f.Cluster.Services.Value {
		if s.Spec.Type == corev1.ServiceTypeLoadBalancer && s.DeletionTimestamp == nil {
			why := f.Policy.WhyNotServed(&s)
			reasons[why] = append(reasons[why], name(s))
		}
	}
	for _, why := range slices.Sorted(maps.Keys(reasons)) {
		r.Found(Warning, fmt.Sprintf("no Service is handled; of type LoadBalancer, but not handled: %s, because %s", Some("Service", reasons[why]), why),
			"With these flags the controller does nothing.",
			"Run this command with the flags of the controller. If it has them already, set --load-balancer-class to the class of the Services, or --handle-default-class=true for those without one.")
	}
}

// checkNamedByID checks that the load balancers whose ids the Services have exist.
func checkNamedByID(f facts, r *Result) {
	there := map[string]bool{}
	for _, b := range f.Cloud.Octavia.Balancers.Value {
		there[b.ID] = true
	}
	var lacking []string
	named, first := 0, ""
	for _, s := range served(f) {
		id := annotation.Value(s.Annotations, annotation.LoadBalancerID)
		if id == "" || claim.Copied(&s) {
			continue // a copy of a Service has the id of the original
		}
		named++
		if !there[id] {
			first = cmp.Or(first, id)
			lacking = append(lacking, name(s))
		}
	}
	if len(lacking) == 0 {
		return
	}
	c := f.Config.Value
	do := fmt.Sprintf("Look for it in other projects and regions: `openstack loadbalancer show %s`. If it is in another one, correct the project or region in [Global] of cloud.conf "+
		"before a controller starts. If it was deleted, the controller creates another one.", first)
	status := Warning
	if len(lacking) == named {
		status = Error
	}
	r.Found(status, fmt.Sprintf("%s: the id in annotation %s is that of no load balancer of project %s%s%s", Some("Service", lacking),
		annotation.LoadBalancerID, f.Cloud.Login.Value.ProjectID, inRegion(c.Global.Region), othersFound(named-len(lacking), named)),
		"A controller would create other load balancers, with other addresses.", do)
}

// inRegion returns the name of the region for messages. Without one in cloud.conf, the cloud has
// only one.
func inRegion(region string) string {
	if region == "" {
		return ""
	}
	return " in region " + region
}

// othersFound returns that the ids of other Services were found, which shows that project and region are
// correct.
func othersFound(n, named int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; it has %d of the %d load balancers that Services name", n, named)
}

// checkClusterName finds load balancers that were created for the Services by a controller with another cluster name.
// Only the uid of the cluster shows that they do not belong to another cluster with Services of the same names.
func checkClusterName(f facts, r *Result) {
	without := map[string]bool{}
	for _, s := range waiting(f) {
		without[name(s)] = true
	}
	byCluster, ours := map[string][]string{}, map[string]bool{}
	for _, b := range f.Cloud.Octavia.Balancers.Value {
		of, described := lb.DescribedService(b.Description)
		service := of.Namespace + "/" + of.Name
		if described && of.Cluster != f.Policy.ClusterName && without[service] && !f.ofAnotherCluster(b) {
			byCluster[of.Cluster] = append(byCluster[of.Cluster], service)
			ours[of.Cluster] = ours[of.Cluster] || lb.ClusterUIDOf(b.Tags) != ""
		}
	}
	for _, cluster := range slices.Sorted(maps.Keys(byCluster)) {
		services := byCluster[cluster]
		slices.Sort(services)
		what := fmt.Sprintf("--cluster-name is %s, but the load balancers that exist for %s have the cluster name %s", f.Policy.ClusterName, Some("Service", slices.Compact(services)), cluster)
		const why = "A controller with this name does not find them, and creates others with other addresses."
		set := fmt.Sprintf("set --cluster-name=%s, for the controller and for this command.", cluster)
		if ours[cluster] {
			r.Found(Error, what, why, "They have the uid of this cluster: "+set)
			continue
		}
		r.Found(Warning, what, why, "If they are those of this cluster, "+set+" If they are those of another cluster with Services of the same names, no action is needed.")
	}
}

// ofAnotherCluster reports whether the load balancer has the uid of another cluster.
func (f facts) ofAnotherCluster(b Balancer) bool {
	uid := lb.ClusterUIDOf(b.Tags)
	return uid != "" && uid != f.Policy.ClusterUID
}

// checkOtherClusters reports load balancers of other clusters with the names of Services. The controller distinguishes
// them by the uids, so this matters only for a Service that does not have its own load balancer.
func checkOtherClusters(f facts, r *Result) {
	services := map[string]corev1.Service{}
	for _, s := range served(f) {
		services[f.Policy.Owner(&s).LoadBalancerName()] = s
	}
	for _, b := range f.Cloud.Octavia.Balancers.Value {
		s, same := services[b.Name]
		if !same || !f.ofAnotherCluster(b) {
			continue
		}
		uid := lb.ClusterUIDOf(b.Tags)
		what := fmt.Sprintf("load balancer %s (%s) has the name of Service %s, but belongs to cluster %s", b.Name, b.ID, name(s), uid)
		gone := fmt.Sprintf("If cluster %s is gone, delete what it has left: `kube-octavia cleanup --cloud-config=FILE --cluster-uid=%s` shows it.", uid, uid)
		switch {
		case f.hasOwn(s):
			r.Saw(what + "; the Service has its own")
		case annotation.Value(s.Annotations, annotation.LoadBalancerID) == b.ID:
			r.Found(Error, what, "The Service names it by its id. The controller never takes it over, and refuses the Service unless shared-lb-scope in [LoadBalancer] allows it to share.",
				fmt.Sprintf("Remove annotation %s of the Service: it gets its own load balancer, with another address. %s", annotation.TypedKey(s.Annotations, annotation.LoadBalancerID), gone))
		default:
			r.Found(Warning, what, "The controller never takes it over: it creates another one with the same name, and another address.",
				gone+" If it exists, no action is needed: controllers recognize their load balancers by the uid of the cluster.")
		}
	}
}

// hasOwn reports whether a load balancer of the project is the Service's own, by its tags, or by the id or name if it has no
// uid of a cluster.
func (f facts) hasOwn(s corev1.Service) bool {
	owner, id := f.Policy.Owner(&s), annotation.Value(s.Annotations, annotation.LoadBalancerID)
	return slices.ContainsFunc(f.Cloud.Octavia.Balancers.Value, func(b Balancer) bool {
		return !f.ofAnotherCluster(b) && (slices.Contains(b.Tags, owner.ServiceTag()) || b.ID == id || b.Name == owner.LoadBalancerName())
	})
}
