// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package orphan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// owners are the uids of the owners of this cluster, of any class, as in tags.
type owners struct {
	// all may have any object. addresses may only have a floating IP, which they request to keep.
	all, addresses map[string]bool
	// noted has, by the namespace and name in the cloud of an owner that may have any object, the id of a load balancer
	// that is on it, or "".
	noted map[string]string
	// requested are the addresses and ids of floating IPs that Services request.
	requested map[string]bool
}

// have reports whether the object may belong to one of the owners.
func (o owners) have(object Object) bool {
	return o.all[object.ServiceUID] || o.share(object) ||
		object.Kind == floatingIPKind && (o.addresses[object.ServiceUID] || o.requested[object.Name] || o.requested[object.ID])
}

// share reports whether one of the owners may share the load balancer. One with the id of another load balancer only has the
// name of a sharer.
func (o owners) share(object Object) bool {
	if object.Sharers == "" {
		return false
	}
	sharers := strings.Split(object.Sharers, sharerSeparator)
	for sharer, id := range o.noted {
		if id == object.ID || id == "" && slices.Contains(sharers, sharer) {
			return true
		}
	}
	return false
}

// orphans returns the marked objects of the inventory that belong to none of the owners.
func (o owners) orphans(marked []Object, all Inventory) []Object {
	return slices.DeleteFunc(append([]Object{}, o.withoutServing(marked, all)...), o.have)
}

// withoutServing leaves out the floating IPs at load balancers that are no orphans: clients reach a Service by them, such as
// one that shares the load balancer of a Service that was deleted.
func (o owners) withoutServing(marked []Object, all Inventory) []Object {
	orphaned := map[string]bool{}
	for _, object := range marked {
		if object.Kind == loadBalancerKind && !o.have(object) {
			orphaned[object.ID] = true
		}
	}
	ports := map[string]bool{}
	for _, balancer := range all.LoadBalancers {
		if balancer.VIPPortID != "" && !orphaned[balancer.ID] {
			ports[balancer.VIPPortID] = true
		}
	}
	serving := map[string]bool{}
	for _, one := range all.FloatingIPs {
		serving[one.ID] = ports[one.PortID]
	}
	return slices.DeleteFunc(slices.Clone(marked), func(object Object) bool { return object.Kind == floatingIPKind && serving[object.ID] })
}

// owners returns the owners that may have cloud objects, as the API server has them.
func (f *Finder) owners(ctx context.Context, api client.Reader) (owners, error) {
	all, err := Owners(ctx, f.Owners().From(api), f.Policy.ClusterUID)
	return ownersAmong(all), err
}

// Owners returns all owners of the cluster. It checks that the API server is that of this cluster, and that the list is
// complete: it must have Service default/kubernetes. They must be read from the API server.
func Owners(ctx context.Context, from claim.Owners, clusterUID string) ([]claim.Owner, error) {
	var system corev1.Namespace
	if err := from.Reader.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, &system); err != nil {
		return nil, fmt.Errorf("read namespace %s: %w", metav1.NamespaceSystem, err)
	}
	if string(system.UID) != clusterUID {
		return nil, fmt.Errorf("the API server belongs to cluster %s, not to this controller's cluster %s", system.UID, clusterUID)
	}
	all, err := from.List(ctx)
	if err != nil {
		return nil, err
	}
	apiServer := owner.ServiceKey(metav1.NamespaceDefault, "kubernetes")
	if !slices.ContainsFunc(all, func(o claim.Owner) bool { return o.Key == apiServer }) {
		return nil, errors.New("the list of Services lacks default/kubernetes, so it may be incomplete")
	}
	return all, nil
}

// cachedOwners is owners from the cache, without checks.
func (f *Finder) cachedOwners(ctx context.Context) (owners, error) {
	all, err := f.Owners().List(ctx)
	return ownersAmong(all), err
}

func ownersAmong(all []claim.Owner) owners {
	found := owners{all: map[string]bool{}, addresses: map[string]bool{}, noted: map[string]string{}, requested: map[string]bool{}}
	for _, o := range all {
		if o.Serves {
			for _, requested := range annotation.Values(o.Spec.Annotations, annotation.FloatingIP) {
				found.requested[requested] = true
			}
			found.requested[o.Spec.LoadBalancerIP] = true
		}
		switch {
		case o.MayOwn:
			found.all[o.Identity.ServiceUID] = true
			found.noted[o.Identity.NamespacedName()] = o.Recorded.LoadBalancerID
		case o.Spec.KeepsFloatingIP():
			found.addresses[o.Identity.ServiceUID] = true
		}
	}
	delete(found.requested, "")
	return found
}
