// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// ServiceStatus is one Service and its load balancer.
type ServiceStatus struct {
	Namespace          string                `json:"namespace"`
	Name               string                `json:"name"`
	LoadBalancerID     string                `json:"loadBalancerID,omitempty"`
	LoadBalancerName   string                `json:"loadBalancerName,omitempty"`
	ProvisioningStatus lb.ProvisioningStatus `json:"provisioningStatus,omitempty"`
	OperatingStatus    string                `json:"operatingStatus,omitempty"`
	Addresses
	Programming
	// Serving is the condition Serving, nil if the Service does not have it.
	Serving *Serving `json:"serving,omitempty"`
	// Shared means that the load balancer was created for another owner.
	Shared     bool       `json:"shared,omitempty"`
	Members    *Members   `json:"members,omitempty"`
	LastChange LastChange `json:"lastChange"`
	Drift      Drift      `json:"drift"`
	// Objects are the cloud objects of the Service. A shared load balancer counts for its owner or, if the owner is not
	// among the Services, for the first one that shares it.
	Objects Objects `json:"objects"`
	// Parts are the listeners of the Service with their pools, members and monitors. They are read only if
	// they are shown.
	Parts []Part `json:"parts,omitempty"`
}

// NotServing reports whether nothing answers the clients of the Service, for a reason that condition Programmed does not have.
func (v ServiceStatus) NotServing() bool {
	return v.Serving != nil && v.Serving.Status == string(metav1.ConditionFalse) && v.Serving.Reason != status.ReasonNotProgrammed
}

// Addresses are the addresses of a Service.
type Addresses struct {
	// Address is the first published address: an IP address or a host name.
	Address string `json:"address,omitempty"`
	// Published are all published addresses.
	Published []string `json:"addresses,omitempty"`
	// VIPs are the addresses of the load balancer, FloatingIPs its floating IPs.
	VIPs        []string `json:"vips,omitempty"`
	FloatingIPs []string `json:"floatingIPs,omitempty"`
}

// Programming is the status, reason and message of condition Programmed.
type Programming struct {
	Programmed string `json:"programmed"`
	Reason     string `json:"reason,omitempty"`
	Message    string `json:"message,omitempty"`
}

// Serving is the status, reason and message of condition Serving. The controller compares it once a minute with the health
// of the members in the cloud; MEMBERS is read now.
type Serving struct {
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// LastChange is the last change of the load balancer or its parts, according to Octavia's updated_at. Without a load
// balancer, it is that of the status of condition Programmed.
type LastChange struct {
	// Time is nil if it is unknown.
	Time *metav1.Time `json:"time,omitempty"`
	Of   string       `json:"of,omitempty"`
}

// The sources of LastChange.
const (
	ofLoadBalancer = "load balancer"
	ofCondition    = "condition Programmed"
)

// Drift has the differences between what the Service should have in the cloud and what it has.
type Drift struct {
	// Ops are the operations of a controller that starts now.
	Ops []Op `json:"ops"`
	// Held are differences that are not repaired because of the Service's drift policy.
	Held []string `json:"held,omitempty"`
	// Unknown is the reason why the differences are unknown.
	Unknown string `json:"unknown,omitempty"`
}

// Conflict is an object that is in conflict with a Service.
type Conflict struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	ID        string `json:"id"`
	Message   string `json:"message"`
	// With is the other side, or "" if it is unknown.
	With string `json:"with,omitempty"`
}

// serviceKind is the kind of a conflict over the Service itself.
const serviceKind = "service"

// holding has what is known about a Service and its cloud objects.
type holding struct {
	service *corev1.Service
	owner   lb.Owner
	// own are its own load balancers. current is the one that serves it, which may belong to another owner, or
	// nil.
	own     []octavia.Listed
	current *octavia.Listed
	// countsShared means that the load balancer of another owner, and its floating IPs, count for this Service.
	countsShared bool
	// floating are the floating IPs that lead to it, or that were created for it.
	floating  []lb.FloatingIP
	conflicts []Conflict
	// tree has the statuses of the parts; nil if they were not read.
	tree    *octavia.Tree
	treeErr error
	plan    diff.Plan
	planErr error
}

// match finds the Service's objects in the lists. uids has the Services of the cluster by uid.
func (s Source) match(service *corev1.Service, cloud cloud, uids map[string]string) holding {
	f := holding{service: service, owner: s.Finder.Policy.Owner(service)}
	conflict := func(kind, id, with, message string) {
		f.conflicts = append(f.conflicts, Conflict{service.Namespace, service.Name, kind, id, message, with})
	}
	var ports []string
	for i := range cloud.loadBalancers {
		l := &cloud.loadBalancers[i]
		noted := l.Bare.ID == service.Annotations[annotation.LoadBalancerID]
		switch {
		case s.Planner.Observer.Owns(s.of(service), l.Bare, cloud.FloatingIPs):
			f.own, ports = append(f.own, *l), append(ports, l.Bare.VIP.PortID)
			if noted || f.current == nil {
				f.current = l
			}
		case noted && s.Planner.Observer.Shares(s.of(service), l.Bare, cloud.FloatingIPs):
			f.current, f.owner.Sharer = l, true
		case noted || l.Bare.Name == f.owner.LoadBalancerName():
			conflict(diff.Object(diff.CreateLoadBalancer{}), l.Bare.ID, s.whose(l.Bare, f.owner, uids),
				cmp.Or(f.owner.Claims(l.Bare).Reason, fmt.Sprintf("load balancer %s has this Service's name, but nothing proves that it belongs to this Service", l.Bare.ID)))
		}
	}
	for _, floating := range cloud.FloatingIPs {
		attached, made := floating.PortID != "" && slices.Contains(ports, floating.PortID), f.owner.MadeFloatingIP(floating)
		if f.current != nil && floating.PortID == f.current.Bare.VIP.PortID && floating.PortID != "" || attached || made {
			f.floating = append(f.floating, floating)
		}
		if made && floating.PortID != "" && !attached {
			conflict(diff.Object(diff.CreateFloatingIP{}), floating.ID, cloud.at(floating.PortID), fmt.Sprintf(
				"floating IP %s was created for this Service but is attached to port %s, which is not the VIP port of its load balancer", floating.Address, floating.PortID))
		}
	}
	if c := meta.FindStatusCondition(service.Status.Conditions, status.Programmed); c != nil && c.Reason == status.ReasonConflictingController {
		conflict(serviceKind, string(service.UID), status.ConflictingWriter(c.Message), c.Message)
	}
	return f
}

// whose returns to what a load balancer belongs that is not the owner's, or "".
func (s Source) whose(l lb.LoadBalancer, owner lb.Owner, uids map[string]string) string {
	of, described := lb.DescribedService(l.Description)
	cluster, service := lb.ClusterUIDOf(l.Tags), lb.ServiceUIDOf(l.Tags)
	switch {
	case cluster != "" && cluster != s.Finder.Policy.ClusterUID:
		return "cluster " + cluster
	case service != "" && service != owner.ServiceUID:
		return "Service " + cmp.Or(uids[service], service)
	case described && of.Cluster != s.Finder.Policy.ClusterName:
		return "cluster " + of.Cluster
	case s.otherProject(l) != "":
		return "project " + l.ProjectID
	}
	return ""
}

// at returns what has the port, as far as the lists show.
func (c cloud) at(portID string) string {
	i := slices.IndexFunc(c.loadBalancers, func(l octavia.Listed) bool { return l.Bare.VIP.PortID == portID })
	if i < 0 {
		return "port " + portID
	}
	return "load balancer " + c.loadBalancers[i].Bare.Name
}

// status combines what is known about the Service.
func (f holding) status() ServiceStatus {
	v := ServiceStatus{
		Namespace: f.service.Namespace, Name: f.service.Name, LoadBalancerID: f.service.Annotations[annotation.LoadBalancerID],
		Programming: Programming{Programmed: string(metav1.ConditionUnknown)}, Shared: f.owner.Sharer,
		LastChange: f.lastChange(), Drift: f.drift(), Objects: f.objects(), Parts: f.parts(), Members: f.members(),
	}
	if c := meta.FindStatusCondition(f.service.Status.Conditions, status.Programmed); c != nil {
		v.Programming = Programming{string(c.Status), c.Reason, c.Message}
	}
	if why := status.WhyNotProgrammed(f.service.Status.Conditions); why != nil {
		v.Reason, v.Message = why.Reason, why.Message
	}
	if c := meta.FindStatusCondition(f.service.Status.Conditions, status.Serving); c != nil {
		v.Serving = &Serving{string(c.Status), c.Reason, c.Message}
	}
	for _, published := range f.service.Status.LoadBalancer.Ingress {
		v.Published = append(v.Published, cmp.Or(published.IP, published.Hostname))
		v.Address = v.Published[0]
	}
	if f.current == nil {
		return v
	}
	l := f.current.Bare
	v.LoadBalancerID, v.LoadBalancerName, v.ProvisioningStatus, v.OperatingStatus = l.ID, l.Name, l.ProvisioningStatus, l.OperatingStatus
	for _, vip := range append([]lb.VIP{l.VIP}, l.AdditionalVIPs...) {
		if vip.Address != "" {
			v.VIPs = append(v.VIPs, vip.Address)
		}
	}
	for _, floating := range f.floating {
		if floating.PortID != "" && floating.PortID == l.VIP.PortID {
			v.FloatingIPs = append(v.FloatingIPs, floating.Address)
		}
	}
	return v
}

// lastChange returns the last change and its source. The condition's time is that of its last change between True,
// False and Unknown, so updated_at is preferred: it changes with each change.
func (f holding) lastChange() LastChange {
	if f.current != nil {
		at, err := time.Parse("2006-01-02T15:04:05", strings.TrimSuffix(f.current.Bare.UpdatedAt, "Z"))
		if err != nil {
			return LastChange{}
		}
		return LastChange{&metav1.Time{Time: at}, ofLoadBalancer}
	}
	c := meta.FindStatusCondition(f.service.Status.Conditions, status.Programmed)
	if c == nil || c.LastTransitionTime.IsZero() {
		return LastChange{}
	}
	return LastChange{&metav1.Time{Time: c.LastTransitionTime.UTC()}, ofCondition}
}

func (f holding) drift() Drift {
	d := Drift{Ops: []Op{}}
	switch {
	case f.planErr != nil:
		d.Unknown = f.planErr.Error()
	case f.current != nil && f.current.Bare.ProvisioningStatus.Pending():
		d.Unknown = "Octavia is working on the load balancer: " + string(f.current.Bare.ProvisioningStatus)
	}
	for _, op := range f.plan.Ops {
		d.Ops = append(d.Ops, Op{Kind: diff.Kind(op), Text: op.String()})
	}
	for _, r := range f.plan.Refused {
		switch r.Reason {
		case status.ReasonDrifted:
			d.Held = append(d.Held, r.Message)
		case desired.ReasonSecretForbidden: // the controller may have the right to read it
			d.Unknown = "the user of this kubeconfig may not read the Secret with the certificate, so only members were compared"
		}
	}
	return d
}
