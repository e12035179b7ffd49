// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import "github.com/google/uuid"

// provisioning is a provisioning_status.
type provisioning uint8

const (
	active provisioning = iota
	pendingCreate
	pendingUpdate
	pendingDelete
	inError
)

var provisioningNames = [...]string{"ACTIVE", "PENDING_CREATE", "PENDING_UPDATE", "PENDING_DELETE", "ERROR"}

func (p provisioning) String() string { return provisioningNames[p] }

// operating is an operating_status.
type operating uint8

const (
	offline operating = iota
	online
	degraded
	broken
	draining
	noMonitor
)

var operatingNames = [...]string{"OFFLINE", "ONLINE", "DEGRADED", "ERROR", "DRAINING", "NO_MONITOR"}

func (o operating) String() string { return operatingNames[o] }

// object is what all parts of a load balancer's tree have. Times are Unix
// seconds; updated is 0 until the first change.
type object struct {
	id               uuid.UUID
	created, updated int64
	prov             provisioning
	oper             operating
	tags             []string
}

func newObject(now int64, tags []string) object {
	return object{id: uuid.New(), created: now, prov: pendingCreate, tags: tags}
}

func (o *object) base() *object { return o }

// parseID returns the zero id, which nothing has, for what is no id.
func parseID(text string) uuid.UUID {
	if len(text) != 36 {
		return uuid.UUID{}
	}
	id, err := uuid.Parse(text)
	if err != nil {
		return uuid.UUID{}
	}
	return id
}
