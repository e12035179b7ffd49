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

// CloudName is the name of the owner in the names, tags and descriptions of its cloud objects, beside its namespace: the
// name of a Service. Before that of any other object there are its kind and a colon, which no name in Kubernetes
// contains. So a Gateway never has the cloud objects of the Service of its name.
func (k Key) CloudName() string {
	if k.Kind == Service {
		return k.Name
	}
	return k.Kind + ":" + k.Name
}

// String returns what logs and messages call the owner: namespace/name if it is a Service. Of any other kind, the kind
// and a space come before that.
func (k Key) String() string {
	name := k.Namespace + "/" + k.Name
	if k.Kind == Service {
		return name
	}
	return k.Kind + " " + name
}
