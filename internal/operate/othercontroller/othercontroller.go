// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package othercontroller finds other controllers that serve the same Services: openstack-cloud-controller-manager, another
// kube-octavia, and whoever else writes the addresses of Services. Package othercontrollerfacts reads the facts for it.
//
// It is pure.
package othercontroller

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
)

// Kind says what kind of controller was found.
type Kind string

// The kinds.
const (
	// OCCM: openstack-cloud-controller-manager runs with its service controller.
	OCCM Kind = "openstack-cloud-controller-manager"
	// CloudControllerManager: a cloud controller manager works. Whether it serves Services is unknown.
	CloudControllerManager Kind = "cloud-controller-manager"
	// Instance: another kube-octavia handles the same class.
	Instance Kind = "kube-octavia"
	// Writer: another field manager wrote the address of a Service recently.
	Writer Kind = "field-manager"
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{OCCM, CloudControllerManager, Instance, Writer} }

// Facts are what is known of other controllers. What could not be read is empty. It is plain data.
type Facts struct {
	// Now is the time of the look.
	Now time.Time
	// Policy says which Services this controller handles.
	Policy claim.Policy
	// Own is the namespace and name of this controller's Lease.
	Own LeaseName
	// OCCM is the Lease of the leading cloud controller manager, nil if there is none. OCCMUnknown is whether it could not
	// be read. Workloads run openstack-cloud-controller-manager.
	OCCM        *Lease
	OCCMUnknown bool
	Workloads   []Workload
	// Instances are the Leases of all kube-octavia, also of this one.
	Instances []Lease
	// Writes are the last writes of other clients to addresses of Services.
	Writes []Write
}

// LeaseName is the namespace and name of a Lease.
type LeaseName struct{ Namespace, Name string }

// String returns namespace/name.
func (n LeaseName) String() string { return n.Namespace + "/" + n.Name }

// OCCMLease is the Lease of a cloud controller manager, unless its flags set another one.
var OCCMLease = LeaseName{Namespace: "kube-system", Name: "cloud-controller-manager"}

// Lease is the Lease of a leader.
type Lease struct {
	LeaseName
	Holder  string
	Renewed time.Time
	// Duration is after how long without a renewal others take over.
	Duration time.Duration
	// Class and Default are of the Lease of a kube-octavia: see Labels.
	Class, Default string
}

// leaseFresh is how long after its renewal a Lease shows at least that its holder works. It is longer than usual
// durations, because clocks of nodes differ.
const leaseFresh = time.Minute

// Alive reports whether the holder renewed the Lease recently. A Lease that is renewed far in the future shows nothing.
func (l Lease) Alive(now time.Time) bool {
	return l.Holder != "" && now.Sub(l.Renewed).Abs() < max(leaseFresh, l.Duration)
}

// Workload is a DaemonSet or Deployment.
type Workload struct {
	Kind, Namespace, Name string
	// Ready is the number of its Pods that are ready.
	Ready int32
	// Args are command and arguments of its containers.
	Args []string
}

// String returns "DaemonSet kube-system/name".
func (w Workload) String() string { return w.Kind + " " + w.Namespace + "/" + w.Name }

// WorkloadNames are the names of the DaemonSets and Deployments that run openstack-cloud-controller-manager: those of its own
// manifests and its Helm chart, and of kOps.
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

// LastWrite returns the last write to the address of the Service; false if there was none, or its time is unknown.
func LastWrite(s *corev1.Service) (Write, bool) {
	last := Write{Service: s.Namespace + "/" + s.Name}
	for _, e := range s.ManagedFields {
		if e.Subresource == "status" && e.Time != nil && e.FieldsV1 != nil && writesAddress(e.FieldsV1.GetRawString()) && e.Time.After(last.At) {
			last.Manager, last.At = e.Manager, e.Time.Time
		}
	}
	return last, last.Manager != ""
}
