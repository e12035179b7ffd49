// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"strconv"

	"github.com/kube-octavia/kube-octavia/internal/operate/othercontroller"
)

func checkKubernetes(f facts, r *Result) {
	k := f.Cluster
	switch k.Version.Kind {
	case NotAsked:
		r.Skip(k.Version.Reason)
		return
	case Denied, Failed:
		r.Found(Error, k.Version.Reason, "The controller cannot work without the Kubernetes API.", k.Version.AdviceOr("set --kubeconfig or $KUBECONFIG to a kubeconfig with which `kubectl version` answers"))
		return
	}
	r.Saw("Kubernetes " + k.Version.Value)
	if r.Has(k.User.Missing, "kubectl auth whoami") {
		r.Saw("the rights are those of user " + k.User.Value)
	}
	if !r.Has(k.Refused.Missing, "kubectl auth can-i --list") {
		return
	}
	clusterIP := f.Config.Value.ClusterIP.Enabled
	for _, right := range k.Refused.Value {
		if right.For == forClusterIP && !clusterIP {
			continue
		}
		file, in := "deploy/clusterrole.yaml", "--all-namespaces"
		if right.InLeaseNamespace {
			file, in = "deploy/role.yaml", "-n "+k.OwnLease.Namespace
		}
		if right.For == ForNodes {
			file = "deploy/nodes/clusterrole.yaml"
		}
		if why := without[right.For]; why != "" {
			r.Found(Warning, fmt.Sprintf("user %s may not %s", k.User.Value, right), why,
				"Apply "+file+", or run this command with the kubeconfig of the controller.")
			continue
		}
		r.Found(Error, fmt.Sprintf("user %s may not %s", k.User.Value, right), "The controller needs that for: "+right.For+".",
			fmt.Sprintf("Apply %s, or run this command with the kubeconfig of the controller. `kubectl auth can-i %s %s` shows the right.", file, right.CanI(), in))
	}
	if len(r.Findings) == 0 {
		r.Saw("it has all " + strconv.Itoa(len(Rights(f.Controllers, k.OwnLease.Name))) + " rights of the controller")
	}
}

func checkOtherControllers(f facts, r *Result) {
	k := f.Cluster
	if k.Services.Kind == NotAsked {
		r.Skip(k.Services.Reason)
		return
	}
	others := othercontroller.Facts{Now: f.Now, Policy: f.Policy, Own: k.OwnLease, OCCM: k.OCCM.Value, Workloads: k.Workloads.Value, Instances: k.Instances.Value}
	others.OCCMUnknown = !r.Has(k.OCCM.Missing, "kubectl -n "+othercontroller.OCCMLease.Namespace+" get lease "+othercontroller.OCCMLease.Name)
	r.Has(k.Workloads.Missing, "kubectl get daemonsets,deployments -A | grep openstack-cloud-controller-manager")
	r.Has(k.Instances.Missing, "kubectl get leases -A -l "+othercontroller.ClassLabel)
	if r.Has(k.Services.Missing, "kubectl get services -A") {
		for _, s := range served(f) {
			if write, ok := othercontroller.LastWrite(&s); ok {
				others.Writes = append(others.Writes, write)
			}
		}
	}
	found, seen := othercontroller.Find(others)
	for _, one := range found {
		status, why := Warning, othercontroller.Why
		if one.Kind == othercontroller.OCCM && f.Policy.ClusterIPs != nil {
			status, why = Error, othercontroller.WhyAtClusterIPs
		}
		r.Found(status, one.What, why, one.Do)
	}
	for _, text := range seen {
		r.Saw(text)
	}
	if r.Has(k.Own.Missing, fmt.Sprintf("kubectl -n %s get lease %s", k.OwnLease.Namespace, k.OwnLease.Name)) {
		checkOwnLease(f, r)
	}
}

// checkOwnLease reports which instance of kube-octavia is active.
func checkOwnLease(f facts, r *Result) {
	l, where := f.Cluster.Own.Value, f.Cluster.OwnLease
	switch {
	case l == nil || l.Holder == "":
		r.Saw("no kube-octavia has Lease " + where.String())
	case l.Alive(f.Now):
		r.Saw(fmt.Sprintf("kube-octavia works: %s renewed Lease %s %s ago", l.Holder, where, othercontroller.Ago(f.Now, l.Renewed)))
	default:
		r.Found(Warning, fmt.Sprintf("%s has Lease %s, but last renewed it %s ago", l.Holder, where, othercontroller.Ago(f.Now, l.Renewed)), "No kube-octavia works at present.",
			fmt.Sprintf("Check its Pods: `kubectl -n %s get pods`, `kubectl -n %s logs deploy/%s`.", where.Namespace, where.Namespace, where.Name))
	}
}
