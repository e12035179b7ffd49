// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kube-octavia/kube-octavia/internal/operate/othercontroller"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
)

func TestKubernetes(t *testing.T) {
	lacks := func(right string) func(*Facts) {
		return func(f *Facts) {
			i := slices.IndexFunc(rights, func(r Right) bool { return r.String() == right })
			f.Cluster.Refused.Value = rights[i : i+1]
		}
	}
	requireDiagnoses(t, map[string]wrong{
		"an API that does not answer": {
			mistake: func(f *Facts) {
				f.Cluster.Version.Missing = Missing{Kind: Failed, Reason: "nothing listens there"}
			},
			check: Kubernetes, status: Error, what: "nothing listens there", do: "--kubeconfig",
		},
		"no right to patch a status": {mistake: lacks("patch services/status"), check: Kubernetes, status: Error, what: "may not patch services/status", do: "kubectl auth can-i patch services --subresource=status --all-namespaces"},
		"no right to its Lease": {
			mistake: lacks("update leases.coordination.k8s.io kube-octavia"),
			check:   Kubernetes, status: Error, what: "may not update leases", do: "Apply deploy/role.yaml",
		},
		"no right to look for others":      {mistake: lacks("list daemonsets.apps openstack-cloud-controller-manager"), check: Kubernetes, status: Warning, what: "may not list daemonsets.apps", do: "Apply deploy/clusterrole.yaml"},
		"no right to publish its settings": {mistake: lacks("update configmaps kube-octavia-settings"), check: Kubernetes, status: Warning, what: "may not update configmaps", do: "Apply deploy/role.yaml"},
		"no right to delete Nodes": {
			mistake: func(f *Facts) {
				f.Cluster.Refused.Value = []Right{{Verb: "delete", Resource: "nodes", For: ForNodes}}
			},
			check: Kubernetes, status: Error, what: "may not delete nodes", do: "Apply deploy/nodes/clusterrole.yaml",
		},
		"no right that only cluster-ip mode needs": {mistake: lacks("list servicecidrs.networking.k8s.io"), check: Kubernetes, status: OK},
	})
}

func TestOtherControllersAreFound(t *testing.T) {
	lease := func(ago time.Duration) func(*Facts) {
		return func(f *Facts) {
			f.Cluster.OCCM = Value(&othercontroller.Lease{LeaseName: othercontroller.OCCMLease, Holder: "master-1", Renewed: noon.Add(-ago)})
		}
	}
	runs := func(controllers string) func(*Facts) {
		return func(f *Facts) {
			lease(time.Second)(f)
			f.Cluster.Workloads.Value = []othercontroller.Workload{{Kind: "DaemonSet", Namespace: "kube-system", Name: "openstack-cloud-controller-manager", Ready: 1, Args: []string{controllers}}}
		}
	}
	requireDiagnoses(t, map[string]wrong{
		"a fresh Lease": {mistake: lease(5 * time.Second), check: OtherControllers, status: Warning, what: "master-1 renewed Lease kube-system/cloud-controller-manager 5s ago", do: "--controllers=*,-service"},
		"an old Lease":  {mistake: lease(time.Hour), check: OtherControllers, status: OK},
		"a DaemonSet with the service controller": {
			mistake: runs("--controllers=cloud-node,service"),
			check:   OtherControllers, status: Warning, what: "(DaemonSet kube-system/openstack-cloud-controller-manager) runs with its service controller", do: "--controllers=*,-service", also: []Check{Nodes},
		},
		"a DaemonSet with the service controller, in cluster-ip mode, for one class": {
			mistake: func(f *Facts) {
				runs("--controllers=cloud-node,service")(f)
				f.Policy.DefaultClass, f.Policy.ClusterIPs = false, &claim.ClusterIPs{}
			},
			check: OtherControllers, status: Error, what: "runs with its service controller", do: "--controllers=*,-service", also: []Check{Nodes, LoadBalancers},
		},
		"a DaemonSet without it": {mistake: runs("--controllers=*,-service"), also: []Check{Nodes}, check: OtherControllers, status: OK},
		"DaemonSets that may not be read": {
			mistake: func(f *Facts) {
				f.Cluster.Workloads.Missing = Missing{Kind: Denied, Reason: "daemonsets is forbidden"}
			},
			check: OtherControllers, status: Unknown, what: "daemonsets is forbidden", do: "kubectl get daemonsets,deployments -A",
		},
		"another kube-octavia of the same class": {
			mistake: func(f *Facts) {
				other := othercontroller.LeaseName{Namespace: "elsewhere", Name: "kube-octavia"}
				f.Policy.LoadBalancerClass = "example.com/lb"
				f.Cluster.Instances.Value = []othercontroller.Lease{{LeaseName: other, Holder: "pod-2", Renewed: noon, Class: "example.com.lb"}, {LeaseName: f.Cluster.OwnLease, Holder: "pod-1", Renewed: noon, Class: "example.com.lb"}}
			},
			check: OtherControllers, status: Warning, what: "another kube-octavia (Lease elsewhere/kube-octavia) handles spec.loadBalancerClass example.com/lb too", do: "--load-balancer-class",
		},
		"a Lease that may not be read": {
			mistake: func(f *Facts) {
				f.Cluster.OCCM.Missing = Missing{Kind: Denied, Reason: "leases is forbidden"}
			},
			check: OtherControllers, status: Unknown, what: "leases is forbidden", do: "kubectl -n kube-system get lease cloud-controller-manager",
		},
		"another writer": {
			mistake: func(f *Facts) {
				now := metav1.NewTime(noon.Add(-time.Minute))
				entry := &f.Cluster.Services.Value[0].ManagedFields[0]
				entry.Manager, entry.Time = "openstack-cloud-controller-manager", &now
			},
			check: OtherControllers, status: Warning, what: "field manager openstack-cloud-controller-manager wrote the address of Service default/web", do: "--show-managed-fields",
		},
		"a kube-octavia that does not renew": {
			mistake: func(f *Facts) { f.Cluster.Own.Value.Renewed = noon.Add(-time.Hour) },
			check:   OtherControllers, status: Warning, what: "pod-1 has Lease kube-octavia/kube-octavia, but last renewed it 1h0m0s ago", do: "kubectl -n kube-octavia get pods",
		},
	})
}

// The table of rights equals the manifests: no right is missing, and none is superfluous.
func TestRightsAreThoseOfTheManifests(t *testing.T) {
	base := slices.Concat(manifestRights(t, "../../../deploy/clusterrole.yaml", false), manifestRights(t, "../../../deploy/role.yaml", true))
	ofNodes := manifestRights(t, "../../../deploy/nodes/clusterrole.yaml", false)
	for name, test := range map[string]struct {
		rights []Right
		want   []string
	}{
		"for Services":    {Rights(Controllers{Service: true}, manifestLease), base},
		"of deploy/nodes": {NodeRights(), ofNodes},
		"for Nodes":       {Rights(Controllers{Service: true, Node: true}, manifestLease), slices.Concat(base, ofNodes)},
		"for routes":      {Rights(Controllers{Route: true}, manifestLease), slices.Concat(base, ofNodes)},
	} {
		t.Run(name, func(t *testing.T) {
			var have []string
			for _, r := range test.rights {
				have = append(have, rightKey(r))
			}
			slices.Sort(have)
			slices.Sort(test.want)
			if diff := cmp.Diff(slices.Compact(test.want), have); diff != "" || len(have) < 10 {
				t.Errorf("rights %s (-manifests +table):\n%s", name, diff)
			}
		})
	}
}

func TestASecondReleaseNeedsItsOwnLeaseAndConfigMap(t *testing.T) {
	var names []string
	for _, r := range Rights(Controllers{Service: true}, "second-kube-octavia") {
		if r.InLeaseNamespace && r.Name != "" {
			names = append(names, r.Verb+" "+r.Name)
		}
	}
	if diff := cmp.Diff([]string{"get second-kube-octavia", "update second-kube-octavia", "get second-kube-octavia-settings", "update second-kube-octavia-settings"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func rightKey(r Right) string {
	text := r.String()
	if r.InLeaseNamespace {
		text += " in the namespace"
	}
	return text
}

// manifestRights returns the rights of the roles in a file.
func manifestRights(t *testing.T, file string, namespaced bool) (all []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		var role rbacv1.ClusterRole
		if err := documents.Decode(&role); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		for _, r := range expand(role.Rules, namespaced) {
			all = append(all, rightKey(r))
		}
	}
}

// expand returns the single rights of the rules.
func expand(rules []rbacv1.PolicyRule, namespaced bool) (all []Right) {
	for _, rule := range rules {
		for _, verb := range rule.Verbs {
			for _, group := range rule.APIGroups {
				resource, sub, _ := strings.Cut(rule.Resources[0], "/")
				r := Right{Verb: verb, Group: group, Resource: resource, Subresource: sub, InLeaseNamespace: namespaced}
				for _, r.Name = range append(rule.ResourceNames, "")[:max(len(rule.ResourceNames), 1)] {
					all = append(all, r)
				}
			}
		}
	}
	return all
}
