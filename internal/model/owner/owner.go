// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package owner names the Kubernetes objects that have load balancers.
package owner

// Service is the kind of Services.
const Service = "Service"

// Key names an owner: a Kubernetes object for which a load balancer exists. Objects of different kinds may have the
// same namespace and name. Two keys are equal if they name the same object, or objects that had the name one after
// the other.
type Key struct{ Kind, Namespace, Name string }

// ServiceKey returns the key of a Service.
func ServiceKey(namespace, name string) Key {
	return Key{Kind: Service, Namespace: namespace, Name: name}
}

// String returns the name of the owner for logs and messages: namespace/name if it is a Service, or else the kind, a
// space and namespace/name.
func (k Key) String() string {
	name := k.Namespace + "/" + k.Name
	if k.Kind == Service {
		return name
	}
	return k.Kind + " " + name
}
