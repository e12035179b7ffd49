// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/model/owner"
)

// Kind adapts one kind of objects in Kubernetes that are owners of load balancers. Everything else works with the Owner.
// The object that a method gets is always of the kind.
type Kind interface {
	// Name is the kind in the keys of its owners.
	Name() string
	// New returns an empty object of the kind.
	New() client.Object
	// Owner returns the owner that the object is. The result may refer to parts of the object.
	Owner(client.Object) Owner
	// Refresh returns the owner as the object is after writes of this controller, which do not change the Spec: it is not read
	// again.
	Refresh(Owner, client.Object) Owner
	// List returns the owners of the kind to which the options apply. They must not be changed, because a cache may share
	// them. If the options limit what one call lists, there are several calls.
	List(ctx context.Context, from client.Reader, options ...client.ListOption) ([]Owner, error)
	// BackedBy returns the owners with this Service as Spec.Backend.
	BackedBy(ctx context.Context, from client.Reader, namespace, service string) ([]Owner, error)
	// SameRequest reports whether two states of an object request the same. What controllers record on it does not
	// matter.
	SameRequest(before, after client.Object) bool
	// SetStatus changes the object, but not in Kubernetes. WriteStatus writes the patch.
	SetStatus(client.Object, Status)
	WriteStatus(ctx context.Context, to client.Client, object client.Object, patch client.Patch) error
}

// KeyOf returns the key of an object of the kind.
func KeyOf(kind Kind, object client.Object) owner.Key {
	return owner.Key{Kind: kind.Name(), Namespace: object.GetNamespace(), Name: object.GetName()}
}

// Status is what controllers publish in the status of an owner.
type Status struct {
	// Conditions are all conditions, also those of other controllers.
	Conditions []metav1.Condition
	// Addresses are the addresses for clients.
	Addresses []corev1.LoadBalancerIngress
}

// Owners reads the owners of load balancers of all kinds.
type Owners struct {
	Reader client.Reader
	Kinds  []Kind
	// options are those of each list.
	options []client.ListOption
}

// ownersPerPage is how many owners one call to the API server lists.
const ownersPerPage = 500

// From returns the same owners, as the API server has them, rather than a cache.
func (o Owners) From(api client.Reader) Owners {
	return Owners{Reader: api, Kinds: o.Kinds, options: []client.ListOption{client.Limit(ownersPerPage)}}
}

// Kind returns the kind of a key. The error says that objects of that kind have no load balancers.
func (o Owners) Kind(key owner.Key) (Kind, error) {
	for _, kind := range o.Kinds {
		if kind.Name() == key.Kind {
			return kind, nil
		}
	}
	return nil, fmt.Errorf("%s: objects of kind %q have no load balancers", key, key.Kind)
}

// Get returns the object in Kubernetes, which the caller may change. The error is that of the API server or the cache.
func (o Owners) Get(ctx context.Context, key owner.Key) (client.Object, Kind, error) {
	kind, err := o.Kind(key)
	if err != nil {
		return nil, nil, err
	}
	object := kind.New()
	return object, kind, o.Reader.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: key.Name}, object)
}

// List returns all owners to which the options apply. They must not be changed.
func (o Owners) List(ctx context.Context, options ...client.ListOption) ([]Owner, error) {
	var all []Owner
	for _, kind := range o.Kinds {
		some, err := kind.List(ctx, o.Reader, append(options, o.options...)...)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// BackedBy returns the owners with this Service as Spec.Backend. They must not be changed.
func (o Owners) BackedBy(ctx context.Context, namespace, service string) ([]Owner, error) {
	var all []Owner
	for _, kind := range o.Kinds {
		some, err := kind.BackedBy(ctx, o.Reader, namespace, service)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}
