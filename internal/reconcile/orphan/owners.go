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

	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// owners are the uids of Services of this cluster, of any class, as in tags.
type owners struct {
	// all may have any object. addresses may only have a floating IP, which they request to keep.
	all, addresses map[string]bool
	// noted has, by the name of a Service that may have any object, the id of a load balancer that is on it, or "".
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
	for service, id := range o.noted {
		if id == object.ID || id == "" && slices.Contains(sharers, service) {
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

// servicesPerPage is how many Services one call lists.
const servicesPerPage = 500

// owners returns the Services that may have cloud objects.
func (f *Finder) owners(ctx context.Context, reader client.Reader) (owners, error) {
	all, err := Services(ctx, reader, f.ClusterUID)
	return f.ownersAmong(all), err
}

// Services returns all Services of the cluster. It checks that the API server is that of this cluster, and that the list is
// complete: it must have Service default/kubernetes. The reader must have no cache.
func Services(ctx context.Context, reader client.Reader, clusterUID string) ([]corev1.Service, error) {
	var system corev1.Namespace
	if err := reader.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, &system); err != nil {
		return nil, fmt.Errorf("read namespace %s: %w", metav1.NamespaceSystem, err)
	}
	if string(system.UID) != clusterUID {
		return nil, fmt.Errorf("the API server belongs to cluster %s, not to this controller's cluster %s", system.UID, clusterUID)
	}
	var all []corev1.Service
	for next := ""; ; {
		var page corev1.ServiceList
		if err := reader.List(ctx, &page, client.Limit(servicesPerPage), client.Continue(next)); err != nil {
			return nil, fmt.Errorf("list Services: %w", err)
		}
		all = append(all, page.Items...)
		if next = page.Continue; next == "" {
			break
		}
	}
	if !slices.ContainsFunc(all, func(s corev1.Service) bool { return s.Namespace == metav1.NamespaceDefault && s.Name == "kubernetes" }) {
		return nil, errors.New("the list of Services lacks default/kubernetes, so it may be incomplete")
	}
	return all, nil
}

// cachedOwners is owners from the cache, without checks.
func (f *Finder) cachedOwners(ctx context.Context) (owners, error) {
	var services corev1.ServiceList
	if err := f.Reader.List(ctx, &services, client.UnsafeDisableDeepCopy); err != nil {
		return owners{}, fmt.Errorf("list Services: %w", err)
	}
	return f.ownersAmong(services.Items), nil
}

func (f *Finder) ownersAmong(services []corev1.Service) owners {
	found := owners{all: map[string]bool{}, addresses: map[string]bool{}, noted: map[string]string{}, requested: map[string]bool{}}
	for i := range services {
		if s := &services[i]; f.Serves(s) {
			for _, requested := range annotation.Values(s.Annotations, annotation.FloatingIP) {
				found.requested[requested] = true
			}
			found.requested[s.Spec.LoadBalancerIP] = true
		}
		switch s := &services[i]; {
		case f.MayOwn(s):
			found.all[f.Owner(s).ServiceUID] = true
			found.noted[s.Namespace+"/"+s.Name] = strings.TrimSpace(s.Annotations[annotation.LoadBalancerID])
		case annotation.KeepsFloatingIP(s.Annotations, f.Config):
			found.addresses[f.Owner(s).ServiceUID] = true
		}
	}
	delete(found.requested, "")
	return found
}
