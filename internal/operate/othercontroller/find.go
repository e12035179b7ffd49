// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package othercontroller

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Finding is another controller of the same Services.
type Finding struct {
	Kind Kind
	// Who is the controller's name, which does not change between searches.
	Who string
	// What describes what was found, and Do what to do about it.
	What, Do string
}

// Why is the reason why another controller matters.
const Why = "Two controllers that serve the same Services undo each other's work, and delete each other's load balancers."

// WhyAtClusterIPs is Why for the service controller of a cloud controller manager in cluster-ip mode.
const WhyAtClusterIPs = "It deletes load balancers at ClusterIPs, because it cleans up Services that have the load balancer finalizer, but are not of type LoadBalancer."

// How to stop other controllers.
const (
	stopOCCM = "Disable its service controller: add --controllers=*,-service to its arguments, see docs/migrate-from-occm.md."
	stopCCM  = "If it serves Services, disable its service controller (--controllers=*,-service). If it already has that argument, or is not for OpenStack, ignore this."
	stopOwn  = "Stop one of them, or give them different values of --load-balancer-class and set --handle-default-class=false for all but one."
	findOut  = "Find the controller with `kubectl get service -n NAMESPACE NAME -o yaml --show-managed-fields`, and disable its service controller (--controllers=*,-service), or give it Services of another class."
)

// recently is the maximum age of another client's write that counts as a sign that the client is
// active.
const recently = 10 * time.Minute

// Find returns the other controllers that serve the same Services, and notes about those that do not.
func Find(f Facts) (found []Finding, seen []string) {
	found, seen = findOCCM(f)
	if !f.Policy.DefaultClass && f.Policy.ClusterIPs == nil {
		for _, one := range found {
			seen = append(seen, one.What+"; it serves Services without a class, which this controller does not handle")
		}
		found = nil
	}
	return slices.Concat(found, findInstances(f), findWriters(f)), seen
}

// findOCCM finds openstack-cloud-controller-manager by its workloads and by its Lease.
func findOCCM(f Facts) (found []Finding, seen []string) {
	running := false
	for _, w := range f.Workloads {
		switch {
		case w.Ready == 0:
			seen = append(seen, w.String()+" has no Pod that is ready")
			continue
		case !w.ServesServices():
			seen = append(seen, w.String()+" runs without its service controller")
		default:
			who := fmt.Sprintf("%s (%s)", OCCM, w)
			found = append(found, Finding{OCCM, who, who + " runs with its service controller" + leader(f), stopOCCM})
		}
		running = true
	}
	switch l := f.OCCM; {
	case f.OCCMUnknown:
	case l == nil:
		seen = append(seen, "no other cloud controller has a Lease")
	case !l.Alive(f.Now):
		seen = append(seen, fmt.Sprintf("Lease %s was last renewed %s ago: its controller does not work any more", l.LeaseName, Ago(f.Now, l.Renewed)))
	case !running:
		found = append(found, Finding{CloudControllerManager, "a cloud controller manager (Lease " + l.String() + ")",
			fmt.Sprintf("another cloud controller works: %s renewed Lease %s %s ago. Whether it serves Services is unknown, because there is no DaemonSet or Deployment of a usual name",
				l.Holder, l.LeaseName, Ago(f.Now, l.Renewed)), stopCCM})
	}
	return found, seen
}

// leader returns a text about the leader, if it is known.
func leader(f Facts) string {
	if f.OCCM == nil || !f.OCCM.Alive(f.Now) {
		return ""
	}
	return fmt.Sprintf("; its leader %s renewed Lease %s %s ago", f.OCCM.Holder, f.OCCM.LeaseName, Ago(f.Now, f.OCCM.Renewed))
}

// findInstances finds other instances of kube-octavia that handle the same class.
func findInstances(f Facts) (found []Finding) {
	own := Labels(f.Policy)
	for _, l := range f.Instances {
		both := l.Default == "true" && f.Policy.DefaultClass
		if l.LeaseName == f.Own || !l.Alive(f.Now) || !both && l.Class != own[ClassLabel] {
			continue
		}
		class := "spec.loadBalancerClass " + f.Policy.LoadBalancerClass
		if both {
			class = "Services without spec.loadBalancerClass"
		}
		who := "another kube-octavia (Lease " + l.String() + ")"
		found = append(found, Finding{Instance, who, fmt.Sprintf("%s handles %s too: %s renewed its Lease %s ago", who, class, l.Holder, Ago(f.Now, l.Renewed)), stopOwn})
	}
	return found
}

// findWriters finds other clients that have written addresses of Services.
func findWriters(f Facts) (found []Finding) {
	services := map[string][]string{}
	for _, w := range f.Writes {
		if w.Manager != OwnManager && f.Now.Sub(w.At) < recently {
			services[w.Manager] = append(services[w.Manager], w.Service)
		}
	}
	for manager, names := range services {
		found = append(found, Finding{Writer, "field manager " + manager,
			fmt.Sprintf("field manager %s wrote the address of %s in the last %v", manager, some(names), recently), findOut})
	}
	slices.SortFunc(found, func(a, b Finding) int { return cmp.Compare(a.Who, b.Who) })
	return found
}

// some returns the names of the first Services, in order.
func some(names []string) string {
	const most = 3
	slices.Sort(names)
	switch n := len(names); {
	case n == 1:
		return "Service " + names[0]
	case n > most:
		return fmt.Sprintf("%d Services, such as %s", n, strings.Join(names[:most], ", "))
	}
	return "Services " + strings.Join(names, ", ")
}

// Ago returns the time since then, in whole seconds.
func Ago(now, then time.Time) string { return max(now.Sub(then), 0).Round(time.Second).String() }
