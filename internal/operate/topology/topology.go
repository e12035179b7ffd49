// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package topology describes the Services of a cluster with their load balancers, listeners, pools and members, and
// their states, for the page of `kube-octavia ui`. It is a pure function of facts, which topologyfacts reads.
package topology

import (
	"slices"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/operate/report"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/orphan"
)

// Topology is the content of the page.
type Topology struct {
	// Cluster is the name of the cluster in the names of load balancers.
	Cluster string `json:"cluster"`
	// ReadAt is when the lists of the cloud were last read; zero before the first time.
	ReadAt time.Time `json:"readAt"`
	// ServicesAt is when Services and events were last known to be up to date; zero before that.
	ServicesAt time.Time `json:"servicesAt"`
	// Unread is the number of load balancers whose members were not read yet.
	Unread int `json:"unread"`
	// Services are sorted: the worst first, then by namespace and name.
	Services  []Service         `json:"services"`
	Orphans   []orphan.Object   `json:"orphans"`
	Conflicts []report.Conflict `json:"conflicts"`
	LeftPorts []orphan.Object   `json:"leftPorts"`
	// Problems are what could not be read, and what to do.
	Problems []Problem `json:"problems"`
	// Note is the reason why no Service is shown, or "".
	Note string `json:"note,omitempty"`
}

// Problem is something that could not be read.
type Problem struct {
	// Of is "Kubernetes" or "OpenStack".
	Of      string `json:"of"`
	Message string `json:"message"`
	// Action is what to do.
	Action string `json:"action"`
	// Since is when it first occurred.
	Since time.Time `json:"since"`
}

// State is the state of a Service, or of an object of Octavia, in one word.
type State string

// The states, from good to bad.
const (
	// OK: the load balancer serves as the Service requests.
	OK State = "ok"
	// Unknown: the state is not known yet.
	Unknown State = "unknown"
	// Pending: something is being changed, or will be next.
	Pending State = "pending"
	// Warning: it serves, but not completely, or not as requested.
	Warning State = "warning"
	// Failed: it does not serve.
	Failed State = "failed"
	// Unmonitored: no health monitor checks the member, so it is unknown whether it serves. No Service has this state.
	Unmonitored State = "unmonitored"
)

// badness orders the states of Services: higher is worse.
func (s State) badness() int { return slices.Index([]State{OK, Unknown, Pending, Warning, Failed}, s) }

// Service is one Service with its cloud objects.
type Service struct {
	// Key is NAMESPACE/NAME.
	Key       string `json:"key"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Type      string `json:"type"`
	// Addresses are the published addresses, and Ports the ports of the Service, such as 443/TCP.
	Addresses []string `json:"addresses"`
	Ports     []string `json:"ports"`
	State     State    `json:"state"`
	// Reasons are why the state is not OK, the worst first.
	Reasons []string `json:"reasons"`
	// Unmonitored are the ports, such as 443/TCP, with members that no health monitor checks.
	Unmonitored []string    `json:"unmonitored"`
	Conditions  []Condition `json:"conditions"`
	Events      []Event     `json:"events"`
	Plan        Plan        `json:"plan"`
	// LoadBalancer is nil if there is none.
	LoadBalancer *LoadBalancer `json:"loadBalancer"`
}

// Condition is a condition of a Service.
type Condition struct {
	Type    string    `json:"type"`
	Status  string    `json:"status"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Since   time.Time `json:"since"`
}

// Event is an event of a Service.
type Event struct {
	Type    string    `json:"type"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Count   int32     `json:"count"`
	Last    time.Time `json:"last"`
}

// Plan is what the controller would do now.
type Plan struct {
	// Known is true if there is a plan. Otherwise Why is the reason.
	Known bool   `json:"known"`
	Why   string `json:"why,omitempty"`
	// Drift means that the operations undo changes by other clients of the cloud.
	Drift      bool        `json:"drift"`
	Operations []Operation `json:"operations"`
	Refused    []Refusal   `json:"refused"`
}

// Operation is one call that changes the cloud.
type Operation struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// Refusal is a change that the controller refuses.
type Refusal struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Statuses are the two statuses of each object of Octavia.
type Statuses struct {
	Provisioning lb.ProvisioningStatus `json:"provisioning"`
	// Operating is "" if it was not read yet.
	Operating string `json:"operating"`
	State     State  `json:"state"`
}

// LoadBalancer is a load balancer with its children. Several Services may have the same.
type LoadBalancer struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Statuses
	Provider string `json:"provider,omitempty"`
	// VIPs are the addresses of its port. FloatingIP is the floating IP on that port, or "".
	VIPs       []string `json:"vips"`
	FloatingIP string   `json:"floatingIP,omitempty"`
	UpdatedAt  string   `json:"updatedAt,omitempty"`
	// Shared means that another owner created it.
	Shared bool `json:"shared"`
	// MembersRead means that members were read. StatusAt is when the operating statuses were read.
	MembersRead bool       `json:"membersRead"`
	StatusAt    time.Time  `json:"statusAt"`
	Listeners   []Listener `json:"listeners"`
	Pools       []Pool     `json:"pools"`
}

// Listener is an open port.
type Listener struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Protocol string `json:"protocol"`
	Port     int    `json:"port"`
	Statuses
	// AllowedCIDRs are its source ranges or, if the VIP has security groups, these as "security group ID".
	AllowedCIDRs []string `json:"allowedCIDRs"`
	// TLS means that it has certificates.
	TLS bool `json:"tls"`
	// PoolID is the id of its default pool, or "".
	PoolID string `json:"poolID"`
}

// Pool is a set of members.
type Pool struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Protocol  string `json:"protocol"`
	Algorithm string `json:"algorithm"`
	Statuses
	// Monitor is nil if the members are not checked.
	Monitor *Monitor `json:"monitor"`
	Members []Member `json:"members"`
}

// Monitor is the health monitor of a pool.
type Monitor struct {
	ID    string `json:"id"`
	Type  string `json:"type"`
	Delay int    `json:"delaySeconds"`
	Statuses
}

// Member is one node or Pod of a pool.
type Member struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Address string `json:"address"`
	Port    int    `json:"port"`
	Weight  int    `json:"weight"`
	Statuses
}
