// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package othercontroller

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
)

var noon = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// renewed returns a Lease that was renewed a time ago.
func renewed(name LeaseName, ago time.Duration) Lease {
	return Lease{LeaseName: name, Holder: "master-1", Renewed: noon.Add(-ago), Duration: 15 * time.Second}
}

// occm returns a DaemonSet of openstack-cloud-controller-manager with these arguments.
func occm(ready int32, args ...string) Workload {
	return Workload{Kind: "DaemonSet", Namespace: "kube-system", Name: "openstack-cloud-controller-manager", Ready: ready, Args: append([]string{"/bin/openstack-cloud-controller-manager"}, args...)}
}

// instance returns the Lease of an instance of kube-octavia.
func instance(namespace, class, handlesDefault string, ago time.Duration) Lease {
	l := renewed(LeaseName{namespace, "kube-octavia"}, ago)
	l.Class, l.Default = class, handlesDefault
	return l
}

func TestOtherControllersOfTheSameServicesAreFound(t *testing.T) {
	const daemonSet = "openstack-cloud-controller-manager (DaemonSet kube-system/openstack-cloud-controller-manager)"
	fresh, old, slow := renewed(OCCMLease, 5*time.Second), renewed(OCCMLease, time.Hour), renewed(OCCMLease, 2*time.Minute)
	slow.Duration = 137 * time.Second
	released := fresh
	released.Holder = ""
	own := LeaseName{"kube-octavia", "kube-octavia"}
	for name, test := range map[string]struct {
		facts Facts
		// want has the findings, by kind, and seen a part of the notes.
		want map[Kind]string
		seen string
	}{
		"no other controller":               {Facts{}, nil, "no other cloud controller has a Lease"},
		"a Lease that cannot be read":       {Facts{OCCMUnknown: true}, nil, ""},
		"OCCM with all controllers":         {Facts{OCCM: &fresh, Workloads: []Workload{occm(1)}}, map[Kind]string{OCCM: daemonSet}, ""},
		"OCCM without a Lease":              {Facts{Workloads: []Workload{occm(3, "--leader-elect=false")}}, map[Kind]string{OCCM: daemonSet}, "no other"},
		"OCCM without -service":             {Facts{OCCM: &fresh, Workloads: []Workload{occm(1, "--controllers=*,-service")}}, nil, "runs without its service controller"},
		"OCCM whose Pods do not run":        {Facts{OCCM: &old, Workloads: []Workload{occm(0)}}, nil, "has no Pod that is ready"},
		"a Lease that is old":               {Facts{OCCM: &old}, nil, "was last renewed 1h0m0s ago"},
		"a Lease that was released":         {Facts{OCCM: &released}, nil, "does not work any more"},
		"a Lease of a long duration":        {Facts{OCCM: &slow}, map[Kind]string{CloudControllerManager: "a cloud controller manager (Lease kube-system/cloud-controller-manager)"}, ""},
		"a Lease of who knows what":         {Facts{OCCM: &fresh}, map[Kind]string{CloudControllerManager: "a cloud controller manager (Lease kube-system/cloud-controller-manager)"}, ""},
		"a Lease, and Pods not ready":       {Facts{OCCM: &fresh, Workloads: []Workload{occm(0)}}, map[Kind]string{CloudControllerManager: "a cloud controller manager (Lease kube-system/cloud-controller-manager)"}, "no Pod that is ready"},
		"another class: OCCM is right":      {Facts{Policy: claim.Policy{LoadBalancerClass: "x"}, OCCM: &fresh, Workloads: []Workload{occm(1)}}, nil, "which this controller does not handle"},
		"another class, in cluster-ip mode": {Facts{Policy: claim.Policy{LoadBalancerClass: "x", ClusterIPs: &claim.ClusterIPs{}}, OCCM: &fresh, Workloads: []Workload{occm(1)}}, map[Kind]string{OCCM: daemonSet}, ""},
		"itself":                            {Facts{Own: own, Instances: []Lease{instance("kube-octavia", "kube-octavia.io.octavia", "true", 0)}}, nil, ""},
		"another of the same class":         {Facts{Own: own, Instances: []Lease{instance("b", "kube-octavia.io.octavia", "false", 0)}}, map[Kind]string{Instance: "another kube-octavia (Lease b/kube-octavia)"}, ""},
		"another of the default class":      {Facts{Own: own, Instances: []Lease{instance("b", "example.com.x", "true", 0)}}, map[Kind]string{Instance: "another kube-octavia (Lease b/kube-octavia)"}, ""},
		"another of another class":          {Facts{Own: own, Instances: []Lease{instance("b", "example.com.x", "false", 0)}}, nil, ""},
		"another that has ended":            {Facts{Own: own, Instances: []Lease{instance("b", "kube-octavia.io.octavia", "true", time.Hour)}}, nil, ""},
		"an own write":                      {Facts{Writes: []Write{{OwnManager, "a/web", noon}}}, nil, ""},
		"a write of another":                {Facts{Writes: []Write{{"metallb", "a/web", noon.Add(-time.Minute)}}}, map[Kind]string{Writer: "field manager metallb"}, ""},
		"a write of long ago":               {Facts{Writes: []Write{{"metallb", "a/web", noon.Add(-time.Hour)}}}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := test.facts
			f.Now = noon
			if f.Policy.LoadBalancerClass == "" {
				f.Policy = claim.Policy{LoadBalancerClass: "kube-octavia.io/octavia", DefaultClass: true}
			}
			found, seen := Find(f)
			var got map[Kind]string
			for _, one := range found {
				if got == nil {
					got = map[Kind]string{}
				}
				got[one.Kind] = one.Who
				if !strings.Contains(one.What, strings.TrimPrefix(one.Who, "a cloud controller manager (Lease kube-system/cloud-controller-manager)")) || one.Do == "" {
					t.Errorf("%+v does not say who it is, or what to do", one)
				}
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("found (-want +got):\n%s", d)
			}
			if !strings.Contains(strings.Join(seen, "\n"), test.seen) {
				t.Errorf("saw %q, and not %q", seen, test.seen)
			}
		})
	}
}

func TestAFindingNamesSomeServices(t *testing.T) {
	var writes []Write
	for _, name := range []string{"e", "d", "c", "b"} {
		writes = append(writes, Write{"metallb", "ns/" + name, noon})
	}
	found, _ := Find(Facts{Now: noon, Writes: writes})
	if len(found) != 1 || found[0].What != "field manager metallb wrote the address of 4 Services, such as ns/b, ns/c, ns/d in the last 10m0s" {
		t.Errorf("found %+v", found)
	}
}

func TestTheLastWriteToTheAddressOfAServiceIsFound(t *testing.T) {
	entry := func(manager, subresource, fields string, ago time.Duration) metav1.ManagedFieldsEntry {
		at := metav1.NewTime(noon.Add(-ago))
		return metav1.ManagedFieldsEntry{Manager: manager, Subresource: subresource, Time: &at, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	const address, conditions = `{"f:status":{"f:loadBalancer":{"f:ingress":{}}}}`, `{"f:status":{"f:conditions":{}}}`
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", ManagedFields: []metav1.ManagedFieldsEntry{
		entry("occm", "status", address, time.Hour), entry("metallb", "status", address, time.Minute), entry("person", "", `{"f:spec":{}}`, 0),
		entry("kube-octavia", "status", conditions, 0), {Manager: "timeless", Subresource: "status", FieldsV1: metav1.NewFieldsV1(address)},
	}}}
	got, ok := LastWrite(s)
	if d := cmp.Diff(Write{"metallb", "ns/web", noon.Add(-time.Minute)}, got); d != "" || !ok {
		t.Errorf("found %v (-want +got):\n%s", ok, d)
	}
	s.ManagedFields = s.ManagedFields[2:4]
	if got, ok := LastWrite(s); ok {
		t.Errorf("no manager wrote the address, and %+v was found", got)
	}
}
