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

	"github.com/kube-octavia/kube-octavia/internal/operate/diagnosis"
	"github.com/kube-octavia/kube-octavia/internal/operate/nodedoctor"
	"github.com/kube-octavia/kube-octavia/internal/operate/othercontroller"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
)

func TestKubernetes(t *testing.T) {
	lacks := func(right string) func(*diagnosis.Facts) {
		return func(f *diagnosis.Facts) {
			i := slices.IndexFunc(rights, func(r diagnosis.Right) bool { return r.String() == right })
			f.Cluster.Refused.Value = rights[i : i+1]
		}
	}
	requireDiagnoses(t, map[string]wrong{
		"an API that does not answer": {
			mistake: func(f *diagnosis.Facts) {
				f.Cluster.Version.Missing = diagnosis.Missing{Kind: diagnosis.Failed, Reason: "nothing listens there"}
			},
			check: diagnosis.Kubernetes, status: diagnosis.Error, what: "nothing listens there", do: "--kubeconfig",
		},
		"no right to patch a status": {mistake: lacks("patch services/status"), check: diagnosis.Kubernetes, status: diagnosis.Error, what: "may not patch services/status", do: "kubectl auth can-i patch services --subresource=status --all-namespaces"},
		"no right to its Lease": {
			mistake: lacks("update leases.coordination.k8s.io kube-octavia"),
			check:   diagnosis.Kubernetes, status: diagnosis.Error, what: "may not update leases", do: "Apply deploy/role.yaml",
		},
		"no right to look for others":      {mistake: lacks("list daemonsets.apps openstack-cloud-controller-manager"), check: diagnosis.Kubernetes, status: diagnosis.Warning, what: "may not list daemonsets.apps", do: "Apply deploy/clusterrole.yaml"},
		"no right to publish its settings": {mistake: lacks("update configmaps kube-octavia-settings"), check: diagnosis.Kubernetes, status: diagnosis.Warning, what: "may not update configmaps", do: "Apply deploy/role.yaml"},
		"no right to delete Nodes": {
			mistake: func(f *diagnosis.Facts) {
				f.Cluster.Refused.Value = []diagnosis.Right{{Verb: "delete", Resource: "nodes", For: nodedoctor.ForNodes}}
			},
			check: diagnosis.Kubernetes, status: diagnosis.Error, what: "may not delete nodes", do: "Apply deploy/nodes/clusterrole.yaml",
		},
		"no right that only cluster-ip mode needs": {mistake: lacks("list servicecidrs.networking.k8s.io"), check: diagnosis.Kubernetes, status: diagnosis.OK},
	})
}

func TestOtherControllersAreFound(t *testing.T) {
	lease := func(ago time.Duration) func(*diagnosis.Facts) {
		return func(f *diagnosis.Facts) {
			f.Cluster.OCCM = diagnosis.Value(&othercontroller.Lease{LeaseName: othercontroller.OCCMLease, Holder: "master-1", Renewed: noon.Add(-ago)})
		}
	}
	runs := func(controllers string) func(*diagnosis.Facts) {
		return func(f *diagnosis.Facts) {
			lease(time.Second)(f)
			f.Cluster.Workloads.Value = []othercontroller.Workload{{Kind: "DaemonSet", Namespace: "kube-system", Name: "openstack-cloud-controller-manager", Ready: 1, Args: []string{controllers}}}
		}
	}
	requireDiagnoses(t, map[string]wrong{
		"a fresh Lease": {mistake: lease(5 * time.Second), check: diagnosis.OtherControllers, status: diagnosis.Warning, what: "master-1 renewed Lease kube-system/cloud-controller-manager 5s ago", do: "--controllers=*,-service"},
		"an old Lease":  {mistake: lease(time.Hour), check: diagnosis.OtherControllers, status: diagnosis.OK},
		"a DaemonSet with the service controller": {
			mistake: runs("--controllers=cloud-node,service"),
			check:   diagnosis.OtherControllers, status: diagnosis.Warning, what: "(DaemonSet kube-system/openstack-cloud-controller-manager) runs with its service controller", do: "--controllers=*,-service", also: []diagnosis.Check{diagnosis.Nodes},
		},
		"a DaemonSet with the service controller, in cluster-ip mode, for one class": {
			mistake: func(f *diagnosis.Facts) {
				runs("--controllers=cloud-node,service")(f)
				f.Policy.DefaultClass, f.Policy.ClusterIPs = false, &claim.ClusterIPs{}
			},
			check: diagnosis.OtherControllers, status: diagnosis.Error, what: "runs with its service controller", do: "--controllers=*,-service", also: []diagnosis.Check{diagnosis.Nodes, diagnosis.LoadBalancers},
		},
		"a DaemonSet without it": {mistake: runs("--controllers=*,-service"), also: []diagnosis.Check{diagnosis.Nodes}, check: diagnosis.OtherControllers, status: diagnosis.OK},
		"DaemonSets that may not be read": {
			mistake: func(f *diagnosis.Facts) {
				f.Cluster.Workloads.Missing = diagnosis.Missing{Kind: diagnosis.Denied, Reason: "daemonsets is forbidden"}
			},
			check: diagnosis.OtherControllers, status: diagnosis.Unknown, what: "daemonsets is forbidden", do: "kubectl get daemonsets,deployments -A",
		},
		"another kube-octavia of the same class": {
			mistake: func(f *diagnosis.Facts) {
				other := othercontroller.LeaseName{Namespace: "elsewhere", Name: "kube-octavia"}
				f.Policy.LoadBalancerClass = "example.com/lb"
				f.Cluster.Instances.Value = []othercontroller.Lease{{LeaseName: other, Holder: "pod-2", Renewed: noon, Class: "example.com.lb"}, {LeaseName: f.Cluster.OwnLease, Holder: "pod-1", Renewed: noon, Class: "example.com.lb"}}
			},
			check: diagnosis.OtherControllers, status: diagnosis.Warning, what: "another kube-octavia (Lease elsewhere/kube-octavia) handles spec.loadBalancerClass example.com/lb too", do: "--load-balancer-class",
		},
		"a Lease that may not be read": {
			mistake: func(f *diagnosis.Facts) {
				f.Cluster.OCCM.Missing = diagnosis.Missing{Kind: diagnosis.Denied, Reason: "leases is forbidden"}
			},
			check: diagnosis.OtherControllers, status: diagnosis.Unknown, what: "leases is forbidden", do: "kubectl -n kube-system get lease cloud-controller-manager",
		},
		"another writer": {
			mistake: func(f *diagnosis.Facts) {
				now := metav1.NewTime(noon.Add(-time.Minute))
				entry := &f.Cluster.Services.Value[0].ManagedFields[0]
				entry.Manager, entry.Time = "openstack-cloud-controller-manager", &now
			},
			check: diagnosis.OtherControllers, status: diagnosis.Warning, what: "field manager openstack-cloud-controller-manager wrote the address of Service default/web", do: "--show-managed-fields",
		},
		"a kube-octavia that does not renew": {
			mistake: func(f *diagnosis.Facts) { f.Cluster.Own.Value.Renewed = noon.Add(-time.Hour) },
			check:   diagnosis.OtherControllers, status: diagnosis.Warning, what: "pod-1 has Lease kube-octavia/kube-octavia, but last renewed it 1h0m0s ago", do: "kubectl -n kube-octavia get pods",
		},
	})
}

// The table of rights equals the manifests: no right is missing, and none is superfluous.
func TestRightsAreThoseOfTheManifests(t *testing.T) {
	base := slices.Concat(manifestRights(t, "../../../deploy/clusterrole.yaml", false), manifestRights(t, "../../../deploy/role.yaml", true))
	ofNodes := manifestRights(t, "../../../deploy/nodes/clusterrole.yaml", false)
	for name, test := range map[string]struct {
		rights []diagnosis.Right
		want   []string
	}{
		"for Services":    {Rights(diagnosis.Controllers{Service: true}, manifestLease), base},
		"of deploy/nodes": {nodedoctor.Rights(), ofNodes},
		"for Nodes":       {Rights(diagnosis.Controllers{Service: true, Node: true}, manifestLease), slices.Concat(base, ofNodes)},
		"for routes":      {Rights(diagnosis.Controllers{Route: true}, manifestLease), slices.Concat(base, ofNodes)},
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
	for _, r := range Rights(diagnosis.Controllers{Service: true}, "second-kube-octavia") {
		if r.InLeaseNamespace && r.Name != "" {
			names = append(names, r.Verb+" "+r.Name)
		}
	}
	if diff := cmp.Diff([]string{"get second-kube-octavia", "update second-kube-octavia", "get second-kube-octavia-settings", "update second-kube-octavia-settings"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func rightKey(r diagnosis.Right) string {
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
func expand(rules []rbacv1.PolicyRule, namespaced bool) (all []diagnosis.Right) {
	for _, rule := range rules {
		for _, verb := range rule.Verbs {
			for _, group := range rule.APIGroups {
				resource, sub, _ := strings.Cut(rule.Resources[0], "/")
				r := diagnosis.Right{Verb: verb, Group: group, Resource: resource, Subresource: sub, InLeaseNamespace: namespaced}
				for _, r.Name = range append(rule.ResourceNames, "")[:max(len(rule.ResourceNames), 1)] {
					all = append(all, r)
				}
			}
		}
	}
	return all
}
