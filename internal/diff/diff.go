// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package diff compares the load balancer that a Service is to have with the
// one it has and says which writes lead from one to the other, in an order that
// never cuts traffic on what does not change.
//
// It is pure: it imports only package lb.
package diff

import (
	"fmt"
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// Plan is what is to be done for one Service.
type Plan struct {
	// Ops are in the order in which they are to be carried out. Ops after one
	// that creates something may lack its id; it is known by the time they are
	// planned again.
	Ops []Op
	// Refused says what is wanted and will not be done. The rest of the plan
	// does not depend on it.
	Refused []Refusal
}

// Refusal is something that the state of the cloud forbids.
type Refusal struct {
	// Reason is a condition's reason, in CamelCase.
	Reason string `json:"reason"`
	// Message tells the user what is in the way and what to change.
	Message string `json:"message"`
}

// The reasons of refusals.
const (
	// ReasonFloatingIPInUse: the address asked for serves something else.
	ReasonFloatingIPInUse = "FloatingIPInUse"
	// ReasonFloatingIPNotFound: nobody has the address asked for, and another
	// one serves now, which would be given up before the new one is sure.
	ReasonFloatingIPNotFound = "FloatingIPNotFound"
	// ReasonAddressImmutable: the VIP has another address than the one asked for,
	// and Octavia cannot change it.
	ReasonAddressImmutable = "AddressImmutable"
	// ReasonPortInUse: a listener of another client uses the port.
	ReasonPortInUse = "PortInUse"
	// ReasonLoadBalancerInUse: others have ports on the Service's load balancer, which
	// therefore stays.
	ReasonLoadBalancerInUse = "LoadBalancerInUse"
	// ReasonBlockedByHealthMonitor: a health monitor is there, and to open a port beside
	// it would lock the load balancer for ever.
	ReasonBlockedByHealthMonitor = "BlockedByHealthMonitor"
)

// New plans the way from observed to wanted for the owner's Service. Octavia
// ops are planned only for a load balancer that is ACTIVE, since Octavia
// refuses them otherwise; deletion also for one in ERROR.
//
// Planning again after the first Octavia op was carried out gives the rest of
// the plan: doing so again and again ends with an empty one.
func New(wanted lb.Wanted, observed lb.Observed, owner lb.Owner) Plan {
	var t *tree
	owner.Sharer = observed.Sharer || observed.LoadBalancer != nil && !owner.Owns(*observed.LoadBalancer)
	if have := observed.LoadBalancer; wanted.LoadBalancer != nil && have != nil && have.ProvisioningStatus == lb.Active {
		t = compare(wanted, *have, owner)
	}
	if have := observed.LoadBalancer; wanted.LoadBalancer == nil && have != nil && Shared(*have, owner) {
		plan := withdraw(wanted, observed, owner)
		plan.Ops = append(plan.Ops, duplicates(observed)...)
		plan.Ops = append(plan.Ops, endOfPredecessor(wanted, observed, addresses{}, false)...)
		return plan
	}
	takesOver := t != nil && len(t.ops()) == 0 && whole(*observed.LoadBalancer)
	addresses := addressPlan(wanted, observed, owner, takesOver)
	plan := Plan{Ops: addresses.release, Refused: addresses.refused}
	for _, w := range wanted.Withheld {
		plan.Refused = append(plan.Refused, Refusal(w))
	}
	switch have := observed.LoadBalancer; {
	case wanted.LoadBalancer == nil && have == nil:
	case wanted.LoadBalancer == nil:
		if !have.ProvisioningStatus.Pending() {
			plan.Ops = append(plan.Ops, DeleteLoadBalancer{ID: have.ID})
		}
	case have == nil:
		plan.Ops = append(plan.Ops, create(wanted))
	case t != nil:
		plan.Ops = append(plan.Ops, t.ops()...)
		plan.Refused = append(plan.Refused, t.refused...)
	}
	// Duplicates come last: one that Octavia is still at work on would hold up
	// everything else.
	plan.Ops = append(plan.Ops, duplicates(observed)...)
	plan.Ops = append(plan.Ops, addresses.attach...)
	plan.Ops = append(plan.Ops, endOfPredecessor(wanted, observed, addresses, takesOver)...)
	return plan
}

// unmarked reports whether the load balancer is to get the owner's mark.
func unmarked(wanted lb.Wanted, observed lb.Observed, owner lb.Owner) bool {
	have := observed.LoadBalancer
	return wanted.LoadBalancer != nil && slices.Contains(wanted.LoadBalancer.Tags, owner.ServiceTag()) &&
		have != nil && !slices.Contains(have.Tags, owner.ServiceTag())
}

// duplicates deletes further load balancers of the Service.
func duplicates(observed lb.Observed) []Op {
	var ops []Op
	for _, id := range observed.Duplicates {
		ops = append(ops, DeleteLoadBalancer{ID: id})
	}
	return ops
}

// create makes the wanted load balancer, by one call if that can be.
func create(wanted lb.Wanted) CreateLoadBalancer {
	op := CreateLoadBalancer{LoadBalancer: *wanted.LoadBalancer}
	if wanted.KeepMonitors {
		op.LoadBalancer = withoutMonitors(op.LoadBalancer)
	}
	if wanted.Serial || losesAddress(op.LoadBalancer) {
		op.LoadBalancer.Listeners = nil
	}
	return op
}

// losesAddress reports whether the load balancer asks for an address of its own, and Octavia
// may refuse one of its certificates, which it may be unable to read at any time. Octavia
// makes the port of the VIP before it looks at those, and leaves it: made by one call, the
// load balancer could not have its address any more.
func losesAddress(l lb.LoadBalancer) bool {
	asks := func(vip lb.VIP) bool { return vip.Address != "" && vip.PortID == "" }
	return (asks(l.VIP) || slices.ContainsFunc(l.AdditionalVIPs, asks)) &&
		slices.ContainsFunc(l.Listeners, func(l lb.Listener) bool { return l.TLS != nil })
}

// tree plans the changes of one load balancer. What restricts access and what
// keeps traffic flowing on ports that stay comes before what opens new ports,
// and what closes ports comes last.
type tree struct {
	owner                                                                 lb.Owner
	id                                                                    string
	mark, listeners, reopening, members, settings, left, opening, closing []Op
	// detached are pools that no listener uses and that the plan so far does
	// not take into use.
	detached []lb.Pool
	// users counts, by pool id, the listeners that will have the pool, and
	// stays those of ours that stay. Octavia lets listeners share a pool, and
	// somebody may have made them do so by hand.
	users, stays map[string]int
	// wanted says whether monitors are left as they are, and whether subnets matter.
	wanted  lb.Wanted
	refused []Refusal
}

func (t *tree) ops() []Op {
	return slices.Concat(t.mark, t.listeners, t.reopening, t.members, t.settings, t.left, t.opening, t.closing)
}

func compare(all lb.Wanted, have lb.LoadBalancer, owner lb.Owner) *tree {
	want := *all.LoadBalancer
	t := &tree{owner: owner, id: have.ID, detached: slices.Clone(have.DetachedPools),
		users: map[string]int{}, stays: map[string]int{}, wanted: all}
	t.loadBalancer(want, have)
	t.removeLeft()
	wanted := map[lb.ListenerKey]bool{}
	for _, l := range want.Listeners {
		wanted[l.Key()] = true
	}
	gone := t.sort(have.Listeners, wanted)
	for _, l := range want.Listeners {
		i := slices.IndexFunc(have.Listeners, func(o lb.Listener) bool { return o.Key() == l.Key() })
		// Octavia cannot change a listener's protocol.
		opens := i < 0 || have.Listeners[i].Protocol != l.Protocol
		switch {
		case i >= 0 && !owner.OwnsListener(have.Listeners[i]):
			t.refused = append(t.refused, Refusal{ReasonPortInUse, fmt.Sprintf(
				"port %s of load balancer %s is used by %s (listener %s, %s, tags %q); use another port",
				portText(l.Key()), have.ID, holder(owner, have.Listeners[i]), have.Listeners[i].ID, have.Listeners[i].Name, have.Listeners[i].Tags)})
		case opens && t.wanted.KeepMonitors && hasMonitor(have):
			t.refused = append(t.refused, monitorInTheWay(l, have))
		case i < 0:
			gone = t.open(l, gone)
		case opens:
			gone = t.open(l, append(gone, have.Listeners[i]))
		default:
			t.keep(l, have.Listeners[i])
		}
	}
	t.close(gone)
	return t
}

// holder says whose the listener is, which is not the owner's.
func holder(owner lb.Owner, l lb.Listener) string {
	if service := owner.ServiceNamed(l.Tags); service != "" {
		return "Service " + service
	}
	return "another client"
}

// sort counts who uses which pool, and returns our listeners that are to go.
func (t *tree) sort(have []lb.Listener, wanted map[lb.ListenerKey]bool) (gone []lb.Listener) {
	for _, l := range have {
		ours := t.owner.OwnsListener(l)
		if ours && !wanted[l.Key()] {
			gone = append(gone, l)
		}
		if l.Pool == nil {
			continue
		}
		t.users[l.Pool.ID]++
		if ours && wanted[l.Key()] {
			t.stays[l.Pool.ID]++
		}
	}
	return gone
}

// loadBalancer marks the load balancer as ours and switches it on.
func (t *tree) loadBalancer(want, have lb.LoadBalancer) {
	op := UpdateLoadBalancer{ID: have.ID}
	if tags := t.marked(want.Tags, have.Tags); !sameTags(tags, have.Tags) {
		op.Tags = &tags
	}
	if have.AdminDown != want.AdminDown {
		op.AdminDown = &want.AdminDown
	}
	if op.Tags != nil || op.AdminDown != nil {
		t.mark = append(t.mark, op)
	}
	t.addressFixed(want.VIP, have.VIP)
	for i, vip := range want.AdditionalVIPs {
		if i < len(have.AdditionalVIPs) {
			t.addressFixed(vip, have.AdditionalVIPs[i])
		}
	}
}

// marked returns the tags that the load balancer is to have.
func (t *tree) marked(want, have []string) []string {
	if !t.owner.Sharer {
		return lb.Retag(have, want)
	}
	// Objects of other owners never get our tags and keep their own.
	tags := slices.Clone(have)
	for _, tag := range t.owner.SharerTags() {
		if slices.Contains(want, tag) && !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return tags
}

// retag sets the tags of a listener or a pool that stays. Our own it got when it was made;
// those that openstack-cloud-controller-manager made stay as they are until custom tags change.
func (t *tree) retag(op SetTags, want, have []string) {
	if lb.CustomDiffer(have, want) {
		op.Tags = lb.Retag(have, want)
		t.settings = append(t.settings, op)
	}
}

// addressFixed refuses another address for a VIP that is there.
func (t *tree) addressFixed(want, have lb.VIP) {
	if want.Address != "" && !sameAddress(want.Address, have.Address) {
		t.refused = append(t.refused, Refusal{ReasonAddressImmutable, fmt.Sprintf(
			"load balancer %s has VIP %s, which Octavia cannot change to %s; request %s, or delete the Service and create it again",
			t.id, have.Address, want.Address, have.Address)})
	}
}

// keep plans the changes of a listener that stays, and of its pool. Without a
// wanted pool the listener keeps the one it has, or lacks.
func (t *tree) keep(want, have lb.Listener) {
	op := UpdateListener{ID: have.ID, Key: have.Key(), LeftBehind: have.ProvisioningStatus.Pending()}
	if want.ConnectionLimit != have.ConnectionLimit {
		op.ConnectionLimit = &want.ConnectionLimit
	}
	if !sameSources(want.AllowedCIDRs, have.AllowedCIDRs) {
		op.AllowedCIDRs = &want.AllowedCIDRs
	}
	if want.Timeouts != nil && (have.Timeouts == nil || *want.Timeouts != *have.Timeouts) {
		op.Timeouts = want.Timeouts
	}
	if !slices.Equal(want.InsertHeaders, have.InsertHeaders) {
		op.InsertHeaders = &want.InsertHeaders
	}
	if want.TLS != nil && !sameTLS(want.TLS, have.TLS) {
		op.TLS = want.TLS
	}
	if want.AdminDown != have.AdminDown {
		op.AdminDown = &want.AdminDown
	}
	replace := want.Pool != nil && !t.serves(want.Pool, have.Pool)
	if op.LeftBehind && !replace {
		// Any write to it will do.
		op.ConnectionLimit = &want.ConnectionLimit
	}
	if op.sets() {
		t.listeners = append(t.listeners, op)
	}
	t.retag(SetTags{Of: "listener", ID: have.ID, Name: have.Name}, want.Tags, have.Tags)
	switch {
	case want.Pool == nil:
	case replace:
		t.replace(want, have)
	default:
		t.pool(*want.Pool, *have.Pool)
	}
}

// serves reports whether the pool that a listener has can be made into the wanted
// one.
func (t *tree) serves(want, have *lb.Pool) bool {
	return have != nil && have.Protocol == want.Protocol && t.stays[have.ID] == 1 && !have.Unfinished() && !t.elsewhere(*want, *have)
}

// elsewhere reports whether the pool has members in another subnet than they are to be in.
// Octavia cannot move a member from one to the other. One without a subnet is where the
// VIP is.
func (t *tree) elsewhere(want, have lb.Pool) bool {
	return t.wanted.MoveMembers && slices.ContainsFunc(have.Members, func(m lb.Member) bool {
		i := slices.IndexFunc(want.Members, func(w lb.Member) bool { return w.Key() == m.Key() })
		return i >= 0 && m.SubnetID != "" && m.SubnetID != want.Members[i].SubnetID
	})
}

// replace gives a listener another pool. The one it has is missing, or another
// listener of ours needs its members to stay as they are, or its protocol or the
// subnet of its members cannot be changed, or Octavia left it behind: a complete new pool takes over,
// then the old one goes.
func (t *tree) replace(want, have lb.Listener) {
	id := t.makePool(*want.Pool)
	behind := have.Pool != nil && have.Pool.Unfinished()
	t.opening = append(t.opening, UpdateListener{ID: have.ID, Key: have.Key(), PoolID: &id, LeftBehind: behind})
	if behind {
		t.opening = append(t.opening, t.drop(have.Pool)...)
		return
	}
	t.closing = append(t.closing, t.drop(have.Pool)...)
}

// drop returns the end of a pool that a listener no longer has, and nothing when
// another one has it still.
func (t *tree) drop(p *lb.Pool) []Op {
	if p == nil {
		return nil
	}
	if t.users[p.ID]--; t.users[p.ID] > 0 {
		return nil
	}
	return []Op{DeletePool{ID: p.ID, Name: p.Name, LeftBehind: p.Unfinished()}}
}

// open plans a new listener, which comes after its pool is complete, so that
// the port opens only when there is somebody behind it. Listeners of gone that
// are in its way are closed just before, and taken out of the result: Octavia cannot
// change a listener's protocol, and takes no second one for the port. Once its pool is
// complete and nothing in its way, nothing but restrictions comes before it: it may have
// been closed for that. One that has no pool, for metrics, is in no such hurry.
func (t *tree) open(want lb.Listener, gone []lb.Listener) []lb.Listener {
	before, id := len(t.opening), ""
	if want.Pool != nil {
		id = t.makePool(*want.Pool)
	}
	rest := gone[:0:0]
	for _, l := range gone {
		// Before API version 2.13 a port number is taken for TCP and UDP alike.
		if l.Port != want.Port {
			rest = append(rest, l)
			continue
		}
		t.opening = append(t.opening, DeleteListener{ID: l.ID, Key: l.Key()})
		t.closing = append(t.closing, t.drop(l.Pool)...)
	}
	listener := want
	listener.Pool = nil
	op := CreateListener{LoadBalancerID: t.id, Listener: listener, PoolID: id}
	if len(t.opening) == before && want.Pool != nil {
		t.reopening = append(t.reopening, op)
	} else {
		t.opening = append(t.opening, op)
	}
	return rest
}

// close plans the end of listeners and of all our pools that nothing uses.
func (t *tree) close(gone []lb.Listener) {
	for _, l := range gone {
		t.closing = append(t.closing, DeleteListener{ID: l.ID, Key: l.Key()})
		t.closing = append(t.closing, t.drop(l.Pool)...)
	}
	for _, p := range t.detached {
		if t.owner.OwnsPool(p) {
			t.closing = append(t.closing, DeletePool{ID: p.ID, Name: p.Name})
		}
	}
}
