// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/diagnosis"
)

func checkKubernetes(f facts, r *diagnosis.Result) {
	k := f.Cluster
	switch k.Version.Kind {
	case diagnosis.NotAsked:
		r.Skip(k.Version.Reason)
		return
	case diagnosis.Denied, diagnosis.Failed:
		r.Found(diagnosis.Error, k.Version.Reason, "The controller cannot work without the Kubernetes API.", "Correct --kubeconfig, or the way to the API server. `kubectl version` shows whether it answers.")
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
			file, in = "deploy/role.yaml", "-n "+k.LeaseNamespace
		}
		r.Found(diagnosis.Error, fmt.Sprintf("user %s may not %s", k.User.Value, right), "The controller needs that for: "+right.For+".",
			fmt.Sprintf("Apply %s, or run this command with the kubeconfig of the controller. `kubectl auth can-i %s %s` shows the right.", file, right.CanI(), in))
	}
	if len(r.Findings) == 0 {
		r.Saw("it has all " + strconv.Itoa(len(rights)) + " rights of the controller")
	}
}

// leaseFresh is how long after its renewal a Lease shows that its holder works.
const leaseFresh = time.Minute

// recently is how long ago another client's write to a status counts as a sign that it works.
const recently = 10 * time.Minute

// ownManager is the field manager of kube-octavia.
const ownManager = "kube-octavia"

func checkOtherControllers(f facts, r *diagnosis.Result) {
	k := f.Cluster
	if k.Services.Kind == diagnosis.NotAsked {
		r.Skip(k.Services.Reason)
		return
	}
	const why = "Two controllers that serve the same Services undo each other's work, and delete each other's load balancers."
	const stop = "Switch off its service controller: `kubectl -n kube-system edit daemonset openstack-cloud-controller-manager`, and add --controllers=*,-service. If it has that argument already, ignore this."
	if r.Has(k.OCCM.Missing, "kubectl -n kube-system get lease cloud-controller-manager") {
		switch l := k.OCCM.Value; {
		case l == nil:
			r.Saw("no other cloud controller has a Lease")
		case f.Now.Sub(l.Renewed) < leaseFresh:
			r.Found(diagnosis.Warning, fmt.Sprintf("another cloud controller works: %s renewed Lease kube-system/cloud-controller-manager %s ago", l.Holder, ago(f.Now, l.Renewed)), why, stop)
		default:
			r.Saw(fmt.Sprintf("Lease kube-system/cloud-controller-manager was last renewed %s ago: its controller does not work any more", ago(f.Now, l.Renewed)))
		}
	}
	if r.Has(k.Services.Missing, "kubectl get services -A") {
		checkWriters(f, r, why)
	}
	if r.Has(k.Own.Missing, fmt.Sprintf("kubectl -n %s get lease kube-octavia", k.LeaseNamespace)) {
		checkOwnLease(f, r)
	}
}

// checkWriters looks for others that wrote addresses of Services.
func checkWriters(f facts, r *diagnosis.Result, why string) {
	writers := map[string][]string{}
	for _, s := range served(f) {
		if writer, at := lastWriter(s); writer != "" && writer != ownManager && f.Now.Sub(at) < recently {
			writers[writer] = append(writers[writer], name(s))
		}
	}
	for _, writer := range sortedKeys(writers) {
		r.Found(diagnosis.Warning, fmt.Sprintf("field manager %s wrote the address of %s in the last %v", writer, some("Service", writers[writer]), recently), why,
			"Find the controller with `kubectl get service -n NAMESPACE NAME -o yaml --show-managed-fields`, and switch off its service controller (--controllers=*,-service), or give it Services of another class.")
	}
}

// lastWriter returns the field manager that last wrote the address of the Service, and when; "" if nobody did.
func lastWriter(s corev1.Service) (manager string, at time.Time) {
	for _, e := range s.ManagedFields {
		if e.Subresource == "status" && e.Time != nil && e.FieldsV1 != nil && strings.Contains(string(e.FieldsV1.GetRawBytes()), `"f:loadBalancer"`) && e.Time.After(at) {
			manager, at = e.Manager, e.Time.Time
		}
	}
	return manager, at
}

// checkOwnLease reports which kube-octavia works.
func checkOwnLease(f facts, r *diagnosis.Result) {
	l, where := f.Cluster.Own.Value, f.Cluster.LeaseNamespace+"/kube-octavia"
	switch {
	case l == nil || l.Holder == "":
		r.Saw("no kube-octavia has Lease " + where)
	case f.Now.Sub(l.Renewed) < leaseFresh:
		r.Saw(fmt.Sprintf("kube-octavia works: %s renewed Lease %s %s ago", l.Holder, where, ago(f.Now, l.Renewed)))
	default:
		r.Found(diagnosis.Warning, fmt.Sprintf("%s has Lease %s, but last renewed it %s ago", l.Holder, where, ago(f.Now, l.Renewed)), "No kube-octavia works at present.",
			fmt.Sprintf("Look at its Pods: `kubectl -n %s get pods`, `kubectl -n %s logs deploy/kube-octavia`.", f.Cluster.LeaseNamespace, f.Cluster.LeaseNamespace))
	}
}

// ago returns the time since then, in whole seconds.
func ago(now, then time.Time) string { return max(now.Sub(then), 0).Round(time.Second).String() }

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
