// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import "github.com/google/uuid"

// ProvisioningStatus is a provisioning_status.
type ProvisioningStatus uint8

// The provisioning statuses.
const (
	Active ProvisioningStatus = iota
	PendingCreate
	PendingUpdate
	PendingDelete
	InError
)

var provisioningNames = [...]string{"ACTIVE", "PENDING_CREATE", "PENDING_UPDATE", "PENDING_DELETE", "ERROR"}

// String returns the status in the API.
func (p ProvisioningStatus) String() string { return provisioningNames[p] }

// OperatingStatus is an operating_status.
type OperatingStatus uint8

// The operating statuses; Broken is ERROR.
const (
	Offline OperatingStatus = iota
	Online
	Degraded
	Broken
	Draining
	NoMonitor
)

// OperatingNames has the names of the operating statuses in the API.
var OperatingNames = [...]string{"OFFLINE", "ONLINE", "DEGRADED", "ERROR", "DRAINING", "NO_MONITOR"}

// String returns the status in the API.
func (o OperatingStatus) String() string { return OperatingNames[o] }

// Object has the fields of all parts of a load balancer's tree. Times are Unix seconds; Updated is
// 0 until the first change.
type Object struct {
	ID               uuid.UUID
	Created, Updated int64
	Provisioning     ProvisioningStatus
	Operating        OperatingStatus
	Tags             []string
}

// NewObject returns the Object of a new part, with a new id.
func NewObject(now int64, tags []string) Object {
	return Object{ID: uuid.New(), Created: now, Provisioning: PendingCreate, Tags: tags}
}

// Base returns the embedded Object.
func (o *Object) Base() *Object { return o }

// Item is any of the objects.
type Item interface{ Base() *Object }

// Part is an object in the tree of a load balancer, or its root.
type Part interface {
	Item
	// Tree returns the load balancer.
	Tree() *LoadBalancer
}

// ParseID parses an id. For invalid text it returns the zero id, which no object has.
func ParseID(text string) uuid.UUID {
	if len(text) != 36 {
		return uuid.UUID{}
	}
	id, err := uuid.Parse(text)
	if err != nil {
		return uuid.UUID{}
	}
	return id
}
