// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package othercontroller finds other controllers that serve the same Services: openstack-cloud-controller-manager, another
// kube-octavia, and any other client that writes the addresses of Services.
//
// File read.go reads from Kubernetes what shows them; the rest is pure.
package othercontroller

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
)

// Kind is the kind of controller that was found.
type Kind string

// The kinds.
const (
	// OCCM: openstack-cloud-controller-manager runs with its service controller.
	OCCM Kind = "openstack-cloud-controller-manager"
	// CloudControllerManager: a cloud controller manager is active. It is unknown whether it serves
	// Services.
	CloudControllerManager Kind = "cloud-controller-manager"
	// Instance: another kube-octavia handles the same class.
	Instance Kind = "kube-octavia"
	// Writer: another field manager wrote the address of a Service recently.
	Writer Kind = "field-manager"
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{OCCM, CloudControllerManager, Instance, Writer} }

// Facts are the known facts about other controllers. Facts that could not be read are empty. It is
// plain data.
type Facts struct {
	// Now is the time of the search.
	Now time.Time
	// Policy selects the Services that this controller handles.
	Policy claim.Policy
	// Own is the namespace and name of this controller's Lease.
	Own LeaseName
	// OCCM is the Lease of the leading cloud controller manager, nil if there is none. OCCMUnknown means that it could
	// not be read. Workloads run openstack-cloud-controller-manager.
	OCCM        *Lease
	OCCMUnknown bool
	Workloads   []Workload
	// Instances are the Leases of all instances of kube-octavia, including this one.
	Instances []Lease
	// Writes are the last writes of other clients to addresses of Services.
	Writes []Write
}

// LeaseName is the namespace and name of a Lease.
type LeaseName struct{ Namespace, Name string }

// String returns namespace/name.
func (n LeaseName) String() string { return n.Namespace + "/" + n.Name }

// OCCMLease is the default Lease of a cloud controller manager.
var OCCMLease = LeaseName{Namespace: "kube-system", Name: "cloud-controller-manager"}

// Lease is the Lease of a leader.
type Lease struct {
	LeaseName
	Holder  string
	Renewed time.Time
	// Duration is the time without a renewal after which others take over.
	Duration time.Duration
	// Class and Default are set for the Lease of an instance of kube-octavia: see Labels.
	Class, Default string
}

// leaseFresh is the minimum time after its renewal in which a Lease shows that its holder is active. It is
// longer than usual durations, because clocks of nodes differ.
const leaseFresh = time.Minute

// Alive reports whether the holder renewed the Lease recently. A renewal time far in the future does not count.
func (l Lease) Alive(now time.Time) bool {
	return l.Holder != "" && now.Sub(l.Renewed).Abs() < max(leaseFresh, l.Duration)
}

// Workload is a DaemonSet or Deployment.
type Workload struct {
	Kind, Namespace, Name string
	// Ready is the number of its Pods that are ready.
	Ready int32
	// Args has the commands and arguments of its containers.
	Args []string
}

// String returns "DaemonSet kube-system/name".
func (w Workload) String() string { return w.Kind + " " + w.Namespace + "/" + w.Name }

// WorkloadNames returns the names of the DaemonSets and Deployments that run openstack-cloud-controller-manager: those
// in its own manifests, in its Helm chart, and in kOps.
func WorkloadNames() (daemonSets, deployments []string) {
	return []string{"openstack-cloud-controller-manager", "openstack-cloud-provider"}, []string{"openstack-cloud-controller-manager"}
}

// Write is the last write to the address of a Service.
type Write struct {
	// Manager is the field manager that made it.
	Manager string
	// Service is its namespace and name.
	Service string
	At      time.Time
}

// OwnManager is the field manager of kube-octavia.
const OwnManager = "kube-octavia"

// LastWrite returns the last write to the address of the Service, or false if there was none or its time is
// unknown.
func LastWrite(s *corev1.Service) (Write, bool) {
	last := Write{Service: s.Namespace + "/" + s.Name}
	for _, e := range s.ManagedFields {
		if e.Subresource == "status" && e.Time != nil && e.FieldsV1 != nil && writesAddress(e.FieldsV1.GetRawString()) && e.Time.After(last.At) {
			last.Manager, last.At = e.Manager, e.Time.Time
		}
	}
	return last, last.Manager != ""
}
