// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// Op is one write to the cloud: one API call. String describes it in one line, for logs, events and `kube-octavia
// plan`.
type Op interface {
	fmt.Stringer
	// Octavia reports whether the op changes a load balancer, which is then immutable until Octavia is done. All other
	// ops go to Neutron.
	Octavia() bool
}

// CreateLoadBalancer creates the load balancer and its children.
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

// SetVIPSecurityGroups sets the security groups of the VIP, and the tags that mark them as ours.
type SetVIPSecurityGroups struct {
	octaviaOp
	ID string `json:"id"`
	// If Groups is empty, the security groups are removed. Then the source ranges of each listener determine which
	// clients may connect.
	Groups []string `json:"groups,omitempty"`
	Tags   []string `json:"tags"`
}

// FailoverLoadBalancer rebuilds what is behind a load balancer in ERROR. Its children and addresses stay.
type FailoverLoadBalancer struct {
	octaviaOp
	ID string `json:"id"`
}

// DeleteLoadBalancer deletes the load balancer and its children.
type DeleteLoadBalancer struct {
	octaviaOp
	ID string `json:"id"`
}

// CreateListener opens a port with an existing pool.
type CreateListener struct {
	octaviaOp
	LoadBalancerID string `json:"loadBalancerID"`
	// Listener.Pool is not sent: PoolID is the default pool, or "" for metrics.
	Listener lb.Listener `json:"listener"`
	PoolID   string      `json:"poolID"`
}

// UpdateListener sets the fields that are not nil.
type UpdateListener struct {
	octaviaOp
	ID string `json:"id"`
	// Key is the listener's port, for messages.
	Key             lb.ListenerKey `json:"key"`
	ConnectionLimit *int           `json:"connectionLimit,omitempty"`
	// AllowedCIDRs set to an empty list opens the port to every client.
	AllowedCIDRs *[]string    `json:"allowedCIDRs,omitempty"`
	Timeouts     *lb.Timeouts `json:"timeouts,omitempty"`
	// InsertHeaders set to an empty list removes all headers.
	InsertHeaders *[]string `json:"insertHeaders,omitempty"`
	TLS           *lb.TLS   `json:"tls,omitempty"`
	HSTS          *lb.HSTS  `json:"hsts,omitempty"`
	PoolID        *string   `json:"poolID,omitempty"`
	AdminDown     *bool     `json:"adminDown,omitempty"`
	// LeftBehind means that Octavia left the listener, or its old pool, PENDING.
	LeftBehind bool `json:"leftBehind,omitempty"`
	// Failed means that the listener is in ERROR, and Octavia shows these values already.
	Failed bool `json:"failed,omitempty"`
}

// sets reports whether the op changes anything but the pool.
func (op UpdateListener) sets() bool {
	op.ID, op.Key, op.PoolID, op.LeftBehind, op.Failed = "", lb.ListenerKey{}, nil, false, false
	return op != UpdateListener{}
}

// DeleteListener closes a port. Its pool stays.
type DeleteListener struct {
	octaviaOp
	ID  string         `json:"id"`
	Key lb.ListenerKey `json:"key"`
	// Failed means that the listener is in ERROR, possibly because Octavia could not delete it.
	Failed bool `json:"failed,omitempty"`
}

// SetTags sets the tags of a listener or a pool.
type SetTags struct {
	octaviaOp
	// Of is "listener" or "pool"; Name is for messages.
	Of   string   `json:"of"`
	ID   string   `json:"id"`
	Name string   `json:"name"`
	Tags []string `json:"tags"`
}

// CreatePool creates a pool that no listener uses yet, without members and monitor.
type CreatePool struct {
	octaviaOp
	LoadBalancerID string  `json:"loadBalancerID"`
	Pool           lb.Pool `json:"pool"`
}

// UpdatePool sets the settings of a pool; its protocol cannot be changed.
type UpdatePool struct {
	octaviaOp
	ID        string       `json:"id"`
	Name      string       `json:"name"`
	Algorithm lb.Algorithm `json:"algorithm"`
	// Persistence is nil to end session persistence.
	Persistence *lb.Persistence `json:"persistence,omitempty"`
	AdminDown   bool            `json:"adminDown,omitempty"`
	// Failed is as in UpdateListener.
	Failed bool `json:"failed,omitempty"`
}

// DeletePool deletes a pool with its members and its monitor.
type DeletePool struct {
	octaviaOp
	ID   string `json:"id"`
	Name string `json:"name"`
	// LeftBehind means that Octavia left it, or something in it, PENDING.
	LeftBehind bool `json:"leftBehind,omitempty"`
	// Failed is as in DeleteListener.
	Failed bool `json:"failed,omitempty"`
}

// SetMembers sets all members of the pool, in one batch call.
type SetMembers struct {
	octaviaOp
	PoolID   string      `json:"poolID"`
	PoolName string      `json:"poolName"`
	Members  []lb.Member `json:"members"`
	// Added, Removed and Changed count the difference, for messages.
	Added   int `json:"added"`
	Removed int `json:"removed"`
	Changed int `json:"changed"`
	// Failed means that members are in ERROR, and that nothing differs.
	Failed bool `json:"failed,omitempty"`
}

// CreateMonitor creates the health monitor of a pool.
type CreateMonitor struct {
	octaviaOp
	PoolID   string           `json:"poolID"`
	PoolName string           `json:"poolName"`
	Monitor  lb.HealthMonitor `json:"monitor"`
}

// UpdateMonitor sets the settings of a monitor; its type cannot be changed.
type UpdateMonitor struct {
	octaviaOp
	ID      string           `json:"id"`
	Monitor lb.HealthMonitor `json:"monitor"`
	// Failed is as in UpdateListener.
	Failed bool `json:"failed,omitempty"`
}

// DeleteMonitor deletes the health monitor of a pool.
type DeleteMonitor struct {
	octaviaOp
	ID       string `json:"id"`
	PoolName string `json:"poolName"`
	// Failed is as in DeleteListener.
	Failed bool `json:"failed,omitempty"`
}

// CreateFloatingIP creates a floating IP for the VIP port.
type CreateFloatingIP struct {
	neutronOp
	// FloatingIP.PortID is empty if the same pass creates the load balancer: its VIP port is used.
	FloatingIP lb.FloatingIP `json:"floatingIP"`
}

// AssociateFloatingIP attaches an existing floating IP to the VIP port.
type AssociateFloatingIP struct {
	neutronOp
	ID      string `json:"id"`
	Address string `json:"address"`
	// PortID is empty as in CreateFloatingIP.
	PortID string `json:"portID,omitempty"`
	// Description, unless empty, is the new description. It makes a kept floating IP the Service's own again, or
	// records the owner of a floating IP that stays attached.
	Description string `json:"description,omitempty"`
	// Former is the floating IP that was detached from the port for this one, or nil. It is attached again if this one
	// cannot be.
	Former *AssociateFloatingIP `json:"former,omitempty"`
}

// DisassociateFloatingIP detaches a floating IP and keeps it.
type DisassociateFloatingIP struct {
	neutronOp
	ID      string `json:"id"`
	Address string `json:"address"`
	// Description, unless empty, is the new description, which marks the floating IP as kept. Without this mark, a
	// floating IP of a deleted Service counts as orphaned.
	Description string `json:"description,omitempty"`
	// For is the address that is attached in its place next, or "" if it is released.
	For string `json:"for,omitempty"`
}

// DeleteFloatingIP deletes a floating IP.
type DeleteFloatingIP struct {
	neutronOp
	ID      string `json:"id"`
	Address string `json:"address"`
}

// SetFloatingIPTags sets the tags of a floating IP.
type SetFloatingIPTags struct {
	neutronOp
	ID      string   `json:"id"`
	Address string   `json:"address"`
	Tags    []string `json:"tags"`
}

// Object returns the kind of object that an op changes, as in metrics: "loadbalancer", "listener", "pool",
// "member", "healthmonitor", "floatingip", or "tags" if only tags change.
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

// OnlyTags reports whether the ops only set tags.
func OnlyTags(ops []Op) bool {
	return !slices.ContainsFunc(ops, func(op Op) bool { return Object(op) != "tags" })
}

// octaviaOp and neutronOp are embedded in the ops of each service.
type (
	octaviaOp struct{}
	neutronOp struct{}
)

// Octavia implements Op.
func (octaviaOp) Octavia() bool { return true }

// Octavia implements Op.
func (neutronOp) Octavia() bool { return false }

// Kind returns the op's name in JSON output and metrics, such as "CreateListener".
func Kind(op Op) string {
	_, name, _ := strings.Cut(fmt.Sprintf("%T", op), ".")
	return name
}

// CertificateRefs returns the references of certificates that the operation sends to Octavia, sorted, without
// duplicates.
func CertificateRefs(op Op) []string {
	switch op := op.(type) {
	case CreateLoadBalancer:
		return op.LoadBalancer.CertificateRefs()
	case CreateListener:
		return lb.LoadBalancer{Listeners: []lb.Listener{op.Listener}}.CertificateRefs()
	case UpdateListener:
		return lb.LoadBalancer{Listeners: []lb.Listener{{TLS: op.TLS}}}.CertificateRefs()
	}
	return nil
}
