// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/operate/report"
)

// Facts are the input of Build.
type Facts struct {
	Cluster string
	// ReadAt is when the lists of the cloud were read, and ServicesAt when Services and events were last up to
	// date.
	ReadAt, ServicesAt time.Time
	Services           []ServiceFacts
	// Events has the events of all Services, by uid.
	Events map[types.UID][]corev1.Event
	// Survey has the orphans, conflicts and left ports.
	Status   report.StatusList
	Problems []Problem
	Note     string
}

// ServiceFacts are the facts about one Service that the controller serves or releases.
type ServiceFacts struct {
	Service  *corev1.Service
	Observed lb.Observed
	Details  Details
	// Plan is what the controller would do, and Drift whether it undoes drift. Err is the reason if they are
	// unknown.
	Plan  diff.Plan
	Drift bool
	Err   error
}

// Details has what lists of the project do not show about a load balancer.
type Details struct {
	// MembersRead means that the members are known.
	MembersRead bool
	// Statuses has the statuses of all objects, by id, and StatusAt is when they were read.
	Statuses map[string]octavia.Status
	StatusAt time.Time
}

// mostEvents is the maximum number of events of a Service that are shown.
const mostEvents = 20

// Build returns the topology. It makes no calls and does not change the facts.
func Build(f Facts) Topology {
	t := Topology{
		Cluster: f.Cluster, ReadAt: f.ReadAt, ServicesAt: f.ServicesAt, Note: f.Note,
		Services: []Service{}, Orphans: list(f.Status.Orphans), Conflicts: list(f.Status.Conflicts), LeftPorts: list(f.Status.LeftPorts),
		Problems: list(f.Problems),
	}
	unread := map[string]bool{}
	for _, facts := range f.Services {
		s := service(facts, f.Events[facts.Service.UID])
		if s.LoadBalancer != nil && !s.LoadBalancer.MembersRead && s.LoadBalancer.Provisioning == lb.Active {
			unread[s.LoadBalancer.ID] = true
		}
		t.Services = append(t.Services, s)
	}
	t.Unread = len(unread)
	slices.SortFunc(t.Services, func(a, b Service) int {
		return cmp.Or(cmp.Compare(b.State.badness(), a.State.badness()), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return t
}

// list is never nil: it becomes [] in JSON.
func list[T any](all []T) []T { return append([]T{}, all...) }

func service(f ServiceFacts, events []corev1.Event) Service {
	s := Service{
		Key: f.Service.Namespace + "/" + f.Service.Name, Namespace: f.Service.Namespace, Name: f.Service.Name, Type: string(f.Service.Spec.Type),
		Addresses: addresses(f.Service), Ports: []string{}, Conditions: []Condition{}, Events: recent(events), Plan: plan(f),
		LoadBalancer: loadBalancer(f),
	}
	for _, p := range f.Service.Spec.Ports {
		s.Ports = append(s.Ports, fmt.Sprintf("%d/%s", p.Port, cmp.Or(p.Protocol, corev1.ProtocolTCP)))
	}
	for _, c := range f.Service.Status.Conditions {
		s.Conditions = append(s.Conditions, Condition{Type: c.Type, Status: string(c.Status), Reason: c.Reason, Message: c.Message, Since: c.LastTransitionTime.Time})
	}
	s.State, s.Reasons = judge(f.Service, s)
	s.Unmonitored = unmonitored(s.LoadBalancer)
	return s
}

func addresses(s *corev1.Service) []string {
	all := []string{}
	for _, i := range s.Status.LoadBalancer.Ingress {
		all = append(all, cmp.Or(i.IP, i.Hostname))
	}
	return all
}

func plan(f ServiceFacts) Plan {
	p := Plan{Known: f.Err == nil, Drift: f.Drift, Operations: []Operation{}, Refused: []Refusal{}}
	if f.Err != nil {
		p.Why = f.Err.Error()
		return p
	}
	for _, op := range f.Plan.Ops {
		p.Operations = append(p.Operations, Operation{Kind: diff.Kind(op), Text: op.String()})
	}
	for _, r := range f.Plan.Refused {
		p.Refused = append(p.Refused, Refusal{Reason: r.Reason, Message: r.Message})
	}
	return p
}

// recent returns the last events, the newest first.
func recent(events []corev1.Event) []Event {
	all := []Event{}
	for _, e := range events {
		next := Event{Type: e.Type, Reason: e.Reason, Message: e.Message, Count: max(e.Count, 1), Last: e.EventTime.Time}
		if next.Last.IsZero() {
			next.Last = cmp.Or(e.LastTimestamp.Time, e.FirstTimestamp.Time, e.CreationTimestamp.Time)
		}
		if e.Series != nil {
			next.Count, next.Last = e.Series.Count, e.Series.LastObservedTime.Time
		}
		all = append(all, next)
	}
	slices.SortFunc(all, func(a, b Event) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Message, b.Message))
	})
	return all[:min(len(all), mostEvents)]
}

func loadBalancer(f ServiceFacts) *LoadBalancer {
	l := f.Observed.LoadBalancer
	if l == nil {
		return nil
	}
	shown := statusesOf(f.Details.Statuses)
	b := &LoadBalancer{
		ID: l.ID, Name: l.Name, Provider: l.Provider, UpdatedAt: l.UpdatedAt, Shared: f.Observed.Sharer, VIPs: []string{},
		Statuses:    statuses(l.ProvisioningStatus, l.OperatingStatus),
		MembersRead: f.Details.MembersRead, StatusAt: f.Details.StatusAt, Listeners: []Listener{}, Pools: []Pool{},
	}
	for _, vip := range append([]lb.VIP{l.VIP}, l.AdditionalVIPs...) {
		if vip.Address != "" {
			b.VIPs = append(b.VIPs, vip.Address)
		}
	}
	if address := f.Observed.Address(); address != l.VIP.Address {
		b.FloatingIP = address
	}
	for _, listener := range byPort(l.Listeners) {
		next := Listener{
			ID: listener.ID, Name: listener.Name, Protocol: string(listener.Protocol), Port: listener.Port,
			Statuses: shown.of(listener.ID, listener.ProvisioningStatus), AllowedCIDRs: sourcesOf(l, listener), TLS: listener.TLS != nil,
		}
		if listener.Pool != nil {
			next.PoolID = listener.Pool.ID
			b.addPool(*listener.Pool, shown)
		}
		b.Listeners = append(b.Listeners, next)
	}
	for _, p := range l.DetachedPools {
		b.addPool(p, shown)
	}
	return b
}

// sourcesOf returns the clients that may connect to a listener.
func sourcesOf(l *lb.LoadBalancer, listener lb.Listener) []string {
	if len(l.VIPSecurityGroups) == 0 {
		return list(listener.AllowedCIDRs)
	}
	var groups []string
	for _, id := range l.VIPSecurityGroups {
		groups = append(groups, "security group "+id)
	}
	return groups
}

// byPort returns the listeners sorted by port, regardless of the order in the cloud's answer.
func byPort(all []lb.Listener) []lb.Listener {
	return slices.SortedStableFunc(slices.Values(all), func(a, b lb.Listener) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Protocol, b.Protocol))
	})
}

// addPool adds a pool, unless it was added before: several listeners may have the same pool.
func (b *LoadBalancer) addPool(p lb.Pool, shown statusesOf) {
	if slices.ContainsFunc(b.Pools, func(o Pool) bool { return o.ID == p.ID }) {
		return
	}
	next := Pool{
		ID: p.ID, Name: p.Name, Protocol: string(p.Protocol), Algorithm: string(p.Algorithm),
		Statuses: shown.of(p.ID, p.ProvisioningStatus), Members: []Member{},
	}
	if m := p.Monitor; m != nil {
		next.Monitor = &Monitor{ID: m.ID, Type: string(m.Type), Delay: m.DelaySeconds, Statuses: shown.of(m.ID, m.ProvisioningStatus)}
	}
	for _, m := range p.Members {
		status := shown.of(m.ID, m.ProvisioningStatus)
		if status.Operating == "" {
			status = statuses(m.ProvisioningStatus, m.OperatingStatus)
		}
		next.Members = append(next.Members, Member{ID: m.ID, Name: m.Name, Address: m.Address, Port: m.Port, Weight: m.Weight, Statuses: status})
	}
	b.Pools = append(b.Pools, next)
}

// statusesOf has the statuses of a status tree.
type statusesOf map[string]octavia.Status

// of returns the statuses of an object. listed is its provisioning status in the lists, which are newer than the tree.
func (s statusesOf) of(id string, listed lb.ProvisioningStatus) Statuses {
	return statuses(cmp.Or(listed, s[id].Provisioning), s[id].Operating)
}
