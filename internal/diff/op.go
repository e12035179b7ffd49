// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// Op is one write to the cloud: one API call. Its String says in a line what it
// does, for logs, events and `kube-octavia plan`.
type Op interface {
	fmt.Stringer
	// Octavia reports whether the op changes a load balancer, and so locks it
	// until Octavia has carried it out. The others go to Neutron.
	Octavia() bool
}

// CreateLoadBalancer makes the load balancer and its children.
type CreateLoadBalancer struct {
	octaviaOp
	LoadBalancer lb.LoadBalancer `json:"loadBalancer"`
}

// UpdateLoadBalancer sets the fields that are not nil.
type UpdateLoadBalancer struct {
	octaviaOp
	ID        string    `json:"id"`
	Tags      *[]string `json:"tags,omitempty"`
	AdminDown *bool     `json:"adminDown,omitempty"`
}

// FailoverLoadBalancer lets Octavia rebuild what is behind a load balancer that
// is in ERROR. Its parts and its address stay.
type FailoverLoadBalancer struct {
	octaviaOp
	ID string `json:"id"`
}

// DeleteLoadBalancer deletes the load balancer and everything below it.
type DeleteLoadBalancer struct {
	octaviaOp
	ID string `json:"id"`
}

// CreateListener opens a port onto a pool that is there already.
type CreateListener struct {
	octaviaOp
	LoadBalancerID string `json:"loadBalancerID"`
	// Listener's Pool is not sent: PoolID is its default pool, or "" for metrics.
	Listener lb.Listener `json:"listener"`
	PoolID   string      `json:"poolID"`
}

// UpdateListener sets the fields that are not nil.
type UpdateListener struct {
	octaviaOp
	ID string `json:"id"`
	// Key is the listener's port, for people.
	Key             lb.ListenerKey `json:"key"`
	ConnectionLimit *int           `json:"connectionLimit,omitempty"`
	// AllowedCIDRs set to an empty list opens the port to everybody.
	AllowedCIDRs *[]string    `json:"allowedCIDRs,omitempty"`
	Timeouts     *lb.Timeouts `json:"timeouts,omitempty"`
	// InsertHeaders set to an empty list adds no header any more.
	InsertHeaders *[]string `json:"insertHeaders,omitempty"`
	TLS           *lb.TLS   `json:"tls,omitempty"`
	PoolID        *string   `json:"poolID,omitempty"`
	AdminDown     *bool     `json:"adminDown,omitempty"`
	// LeftBehind says that Octavia left the listener, or the pool that it is
	// given another one for, PENDING.
	LeftBehind bool `json:"leftBehind,omitempty"`
}

// sets reports whether the op changes anything but the pool.
func (op UpdateListener) sets() bool {
	op.ID, op.Key, op.PoolID, op.LeftBehind = "", lb.ListenerKey{}, nil, false
	return op != UpdateListener{}
}

// DeleteListener closes a port. Its pool stays.
type DeleteListener struct {
	octaviaOp
	ID  string         `json:"id"`
	Key lb.ListenerKey `json:"key"`
}

// SetTags makes the tags of a listener or a pool these.
type SetTags struct {
	octaviaOp
	// Of is "listener" or "pool", and Name what people know it by.
	Of   string   `json:"of"`
	ID   string   `json:"id"`
	Name string   `json:"name"`
	Tags []string `json:"tags"`
}

// CreatePool makes a pool that no listener uses yet, without members and
// monitor: nothing nests outside CreateLoadBalancer.
type CreatePool struct {
	octaviaOp
	LoadBalancerID string  `json:"loadBalancerID"`
	Pool           lb.Pool `json:"pool"`
}

// UpdatePool makes the pool's settings these; its protocol cannot be changed.
type UpdatePool struct {
	octaviaOp
	ID        string       `json:"id"`
	Name      string       `json:"name"`
	Algorithm lb.Algorithm `json:"algorithm"`
	// Persistence nil ends persistence.
	Persistence *lb.Persistence `json:"persistence,omitempty"`
	AdminDown   bool            `json:"adminDown,omitempty"`
}

// DeletePool deletes a pool with its members and its monitor.
type DeletePool struct {
	octaviaOp
	ID   string `json:"id"`
	Name string `json:"name"`
	// LeftBehind says that Octavia left it, or something in it, PENDING.
	LeftBehind bool `json:"leftBehind,omitempty"`
}

// SetMembers makes the pool's members exactly these, in one batch call.
type SetMembers struct {
	octaviaOp
	PoolID   string      `json:"poolID"`
	PoolName string      `json:"poolName"`
	Members  []lb.Member `json:"members"`
	// Added, Removed and Changed count the difference, for people.
	Added   int `json:"added"`
	Removed int `json:"removed"`
	Changed int `json:"changed"`
}

// CreateMonitor gives the pool a health monitor.
type CreateMonitor struct {
	octaviaOp
	PoolID   string           `json:"poolID"`
	PoolName string           `json:"poolName"`
	Monitor  lb.HealthMonitor `json:"monitor"`
}

// UpdateMonitor makes the monitor's settings those of Monitor; its type cannot
// be changed.
type UpdateMonitor struct {
	octaviaOp
	ID      string           `json:"id"`
	Monitor lb.HealthMonitor `json:"monitor"`
}

// DeleteMonitor takes the pool's health monitor away.
type DeleteMonitor struct {
	octaviaOp
	ID       string `json:"id"`
	PoolName string `json:"poolName"`
}

// CreateFloatingIP makes a floating IP that leads to the VIP port.
type CreateFloatingIP struct {
	neutronOp
	// FloatingIP's PortID is empty when the load balancer is made in the same
	// pass: it is then the VIP port of that one.
	FloatingIP lb.FloatingIP `json:"floatingIP"`
}

// AssociateFloatingIP lets an existing floating IP lead to the VIP port.
type AssociateFloatingIP struct {
	neutronOp
	ID      string `json:"id"`
	Address string `json:"address"`
	// PortID is empty as in CreateFloatingIP.
	PortID string `json:"portID,omitempty"`
	// Description, unless it is empty, makes one that was kept the Service's own
	// again, or says whose one was that stays where it is.
	Description string `json:"description,omitempty"`
}

// DisassociateFloatingIP detaches a floating IP and keeps it.
type DisassociateFloatingIP struct {
	neutronOp
	ID      string `json:"id"`
	Address string `json:"address"`
	// Description, unless it is empty, says from now on that it is kept. Without
	// it, a floating IP that was made for a Service would be taken for one that
	// was forgotten when the Service is gone.
	Description string `json:"description,omitempty"`
}

// DeleteFloatingIP gives a floating IP back.
type DeleteFloatingIP struct {
	neutronOp
	ID      string `json:"id"`
	Address string `json:"address"`
}

// SetFloatingIPTags makes the tags of a floating IP these.
type SetFloatingIPTags struct {
	neutronOp
	ID      string   `json:"id"`
	Address string   `json:"address"`
	Tags    []string `json:"tags"`
}

// Object is the kind of object that an op changes, as in metrics: "loadbalancer",
// "listener", "pool", "member", "healthmonitor", "floatingip", or "tags" where
// nothing but tags are set.
func Object(op Op) string {
	switch op := op.(type) {
	case UpdateLoadBalancer:
		if op.AdminDown == nil {
			return "tags"
		}
	case SetTags, SetFloatingIPTags:
		return "tags"
	case CreateListener, UpdateListener, DeleteListener:
		return "listener"
	case CreatePool, UpdatePool, DeletePool:
		return "pool"
	case SetMembers:
		return "member"
	case CreateMonitor, UpdateMonitor, DeleteMonitor:
		return "healthmonitor"
	case CreateFloatingIP, AssociateFloatingIP, DisassociateFloatingIP, DeleteFloatingIP:
		return "floatingip"
	}
	return "loadbalancer"
}

// OnlyTags reports whether the ops do nothing but set tags.
func OnlyTags(ops []Op) bool {
	return !slices.ContainsFunc(ops, func(op Op) bool { return Object(op) != "tags" })
}

// octaviaOp and neutronOp are embedded to say where an op goes.
type (
	octaviaOp struct{}
	neutronOp struct{}
)

// Octavia implements Op.
func (octaviaOp) Octavia() bool { return true }

// Octavia implements Op.
func (neutronOp) Octavia() bool { return false }

// Kind is the op's name in JSON output and in metrics, such as
// "CreateListener".
func Kind(op Op) string {
	_, name, _ := strings.Cut(fmt.Sprintf("%T", op), ".")
	return name
}
