// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ownerkind has a kind of owners of load balancers that only tests have: ConfigMaps that list ports. It shows what
// a kind has to say about its objects, and that everything else works with any kind.
package ownerkind

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

const (
	// Name is the kind.
	Name = "ConfigMap"
	// Label selects the ConfigMaps that are owners, by the value "true".
	Label = "ownerkind.test/load-balancer"
	// Ports is the key of the ports, such as "80/TCP=30080,53/UDP=30053": port, protocol and the port on the nodes.
	Ports = "ports"
	// statusKey is the annotation with the status, as JSON: ConfigMaps have no status.
	statusKey = "ownerkind.test/status"
)

// ConfigMaps is the kind.
type ConfigMaps struct {
	Policy claim.Policy
	Config config.LoadBalancer
}

// Kinds is for cli.Options.MoreKinds.
func Kinds(policy claim.Policy, settings config.LoadBalancer) []claim.Kind {
	return []claim.Kind{ConfigMaps{Policy: policy, Config: settings}}
}

// Refresh implements claim.Kind.
func (k ConfigMaps) Refresh(of claim.Owner, object client.Object) claim.Owner {
	now := k.Owner(object)
	now.Spec = of.Spec
	return now
}

// Name implements claim.Kind.
func (k ConfigMaps) Name() string { return Name }

// New implements claim.Kind.
func (k ConfigMaps) New() client.Object { return &corev1.ConfigMap{} }

// Owner implements claim.Kind.
func (k ConfigMaps) Owner(object client.Object) claim.Owner {
	key := owner.Key{Kind: Name, Namespace: object.GetNamespace(), Name: object.GetName()}
	selected := object.GetLabels()[Label] == "true" && object.GetDeletionTimestamp() == nil && !k.Policy.Drain
	mark := string(object.GetUID()) + " " + k.Policy.LoadBalancerClass
	annotations, published := object.GetAnnotations(), Status(object)
	finalizer := controllerutil.ContainsFinalizer(object, claim.Finalizer)
	marked := annotations[annotation.Managed] == mark
	accepted := condition(published.Conditions, status.Accepted)
	o := claim.Owner{
		Key: key, UID: object.GetUID(), Created: object.GetCreationTimestamp(), Generation: object.GetGeneration(),
		Deleting: object.GetDeletionTimestamp() != nil,
		Identity: lb.Owner{
			ClusterName: k.Policy.ClusterName, ClusterUID: k.Policy.ClusterUID,
			Namespace: key.Namespace, Name: key.CloudName(), ServiceUID: string(object.GetUID()),
		},
		Serves: selected, Leaves: !selected && (finalizer || marked), Claimed: finalizer && marked, Unclaimed: !finalizer || !marked,
		MayOwn: selected || finalizer, Mark: mark, Publishes: true,
		Spec: desired.SpecOf(annotations, k.Config),
		Recorded: claim.Recorded{
			LoadBalancerID: annotations[annotation.LoadBalancerID], Address: annotations[annotation.LoadBalancerAddress],
			VIPAddress: annotations[annotation.VIPAddress], Note: annotations[annotation.Programmed], Mark: annotations[annotation.Managed],
			Annotations: claim.RecordedIn(annotations), Finalizer: finalizer, Conditions: published.Conditions, Ingress: published.Addresses,
			Refused: accepted.Status == metav1.ConditionFalse && desired.Refuses(accepted.Reason),
		},
	}
	if c, is := object.(*corev1.ConfigMap); is {
		o.Spec.Ports = ports(c.Data[Ports])
	}
	return o
}

func condition(all []metav1.Condition, kind string) metav1.Condition {
	for _, c := range all {
		if c.Type == kind {
			return c
		}
	}
	return metav1.Condition{}
}

// ports parses the value of key Ports. It leaves out what it cannot parse.
func ports(text string) (all []corev1.ServicePort) {
	for _, one := range strings.Split(text, ",") {
		front, nodePort, _ := strings.Cut(one, "=")
		port, protocol, _ := strings.Cut(front, "/")
		number, err := strconv.ParseInt(port, 10, 32)
		behind, err2 := strconv.ParseInt(nodePort, 10, 32)
		if err == nil && err2 == nil {
			all = append(all, corev1.ServicePort{Protocol: corev1.Protocol(protocol), Port: int32(number), NodePort: int32(behind)})
		}
	}
	return all
}

// List implements claim.Kind.
func (k ConfigMaps) List(ctx context.Context, from client.Reader, options ...client.ListOption) ([]claim.Owner, error) {
	var page corev1.ConfigMapList
	if err := from.List(ctx, &page, append(options, client.Limit(0))...); err != nil {
		return nil, fmt.Errorf("list ConfigMaps: %w", err)
	}
	all := make([]claim.Owner, len(page.Items))
	for i := range page.Items {
		all[i] = k.Owner(&page.Items[i])
	}
	return all, nil
}

// BackedBy implements claim.Kind: the members are nodes.
func (k ConfigMaps) BackedBy(context.Context, client.Reader, string, string) ([]claim.Owner, error) {
	return nil, nil
}

// SameRequest implements claim.Kind.
func (k ConfigMaps) SameRequest(before, after client.Object) bool {
	a, is := before.(*corev1.ConfigMap)
	b, also := after.(*corev1.ConfigMap)
	return is && also && maps.Equal(a.Data, b.Data) && maps.Equal(a.Labels, b.Labels) && maps.Equal(ofUsers(a), ofUsers(b))
}

func ofUsers(c *corev1.ConfigMap) map[string]string {
	rest := maps.Clone(c.Annotations)
	maps.DeleteFunc(rest, func(key, _ string) bool { return claim.Records(key) || key == statusKey })
	return rest
}

// Status returns the status that the controller has published on a ConfigMap.
func Status(object client.Object) (published claim.Status) {
	_ = json.Unmarshal([]byte(object.GetAnnotations()[statusKey]), &published) // no status is an empty one
	return published
}

// SetStatus implements claim.Kind.
func (k ConfigMaps) SetStatus(object client.Object, to claim.Status) {
	annotations := maps.Clone(object.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	text, _ := json.Marshal(to) // plain data never fails
	annotations[statusKey] = string(text)
	object.SetAnnotations(annotations)
}

// WriteStatus implements claim.Kind.
func (k ConfigMaps) WriteStatus(ctx context.Context, to client.Client, object client.Object, patch client.Patch) error {
	return to.Patch(ctx, object, patch)
}
