// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package diff compares the wanted load balancer of a Service with the observed one, and plans the writes that lead
// from one to the other, in an order that never interrupts traffic on unchanged ports.
//
// It is pure.
package diff

import (
	"fmt"
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// Plan is the result for one Service.
type Plan struct {
	// Ops are in the order of their execution. Ops after one that creates an object may lack the id of this object:
	// they are planned again once it is known.
	Ops []Op
	// Refused are wanted changes that will not be made. The rest of the plan does not depend on them.
	Refused []Refusal
}

// Refusal is a change that the state of the cloud prevents.
type Refusal struct {
	// Reason is a condition's reason, in CamelCase.
	Reason string `json:"reason"`
	// Message is the text for the user: what prevents the change and what to do.
	Message string `json:"message"`
}

// The reasons of refusals.
const (
	// ReasonFloatingIPInUse: the requested address is attached to something else.
	ReasonFloatingIPInUse = "FloatingIPInUse"
	// ReasonFloatingIPNotAttachable: the cloud cannot attach the requested address to the VIP.
	ReasonFloatingIPNotAttachable = "FloatingIPNotAttachable"
	// ReasonFloatingIPNotFound: the requested address does not exist. The Service has another address, which would have
	// to be released first.
	ReasonFloatingIPNotFound = "FloatingIPNotFound"
	// ReasonAddressImmutable: the VIP has another address than the requested one, and Octavia cannot change it.
	ReasonAddressImmutable = "AddressImmutable"
	// ReasonPortInUse: a listener of another client uses the port.
	ReasonPortInUse = "PortInUse"
	// ReasonLoadBalancerInUse: the Service's load balancer has sharers, so it stays.
	ReasonLoadBalancerInUse = "LoadBalancerInUse"
	// ReasonBlockedByHealthMonitor: with an existing health monitor, a new port would leave the load balancer PENDING
	// for ever.
	ReasonBlockedByHealthMonitor = "BlockedByHealthMonitor"
)

// New plans the changes from observed to wanted for the owner's Service. It plans Octavia ops only for a load balancer
// that is ACTIVE, because Octavia rejects them otherwise, and its deletion also in ERROR.
//
// A new plan after the first Octavia op contains the rest of the old plan. If this is repeated, it ends with an empty
// plan.
func New(wanted lb.Wanted, observed lb.Observed, owner lb.Owner) Plan {
	var t *changes
	owner.Sharer = observed.Sharer || observed.LoadBalancer != nil && !owner.Owns(*observed.LoadBalancer)
	if have := observed.LoadBalancer; wanted.LoadBalancer != nil && have != nil && have.ProvisioningStatus == lb.Active {
		t = compare(wanted, *have, owner)
	}
	if have := observed.LoadBalancer; wanted.LoadBalancer == nil && have != nil && Shared(*have, owner) {
		plan := leaveShared(wanted, observed, owner)
		plan.Ops = slices.Concat(plan.Ops, deleteDuplicates(observed), deletePredecessor(wanted, observed, addresses{}, false))
		return plan
	}
	ready := t != nil && len(t.ops()) == 0 && complete(*observed.LoadBalancer)
	addresses := planAddresses(wanted, observed, owner, ready)
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
	// Duplicates come after the load balancer: a duplicate that is still PENDING would delay everything else.
	plan.Ops = slices.Concat(plan.Ops, deleteDuplicates(observed), addresses.attach, deletePredecessor(wanted, observed, addresses, ready))
	return plan
}

// unmarked reports whether the load balancer will get the owner's mark.
func unmarked(wanted lb.Wanted, observed lb.Observed, owner lb.Owner) bool {
	have := observed.LoadBalancer
	return wanted.LoadBalancer != nil && slices.Contains(wanted.LoadBalancer.Tags, owner.ServiceTag()) &&
		have != nil && !slices.Contains(have.Tags, owner.ServiceTag())
}

// deleteDuplicates deletes further load balancers of the Service.
func deleteDuplicates(observed lb.Observed) (ops []Op) {
	for _, id := range observed.Duplicates {
		ops = append(ops, DeleteLoadBalancer{ID: id})
	}
	return ops
}

// create creates the wanted load balancer, with one call if possible.
func create(wanted lb.Wanted) CreateLoadBalancer {
	op := CreateLoadBalancer{LoadBalancer: *wanted.LoadBalancer}
	op.LoadBalancer.Tags = lb.WithVIPGroups(op.LoadBalancer.Tags, op.LoadBalancer.VIPSecurityGroups)
	if wanted.KeepMonitors {
		op.LoadBalancer = withoutMonitors(op.LoadBalancer)
	}
	if wanted.Serial || losesAddress(op.LoadBalancer) {
		op.LoadBalancer.Listeners = nil
	}
	return op
}

// losesAddress reports whether a create with one call could lose a requested VIP address. Octavia creates the VIP port
// before it checks the certificates. If it rejects a certificate, which can happen at any time, it leaves the port
// behind, and the address is in use.
func losesAddress(l lb.LoadBalancer) bool {
	requested := func(vip lb.VIP) bool { return vip.Address != "" && vip.PortID == "" }
	return (requested(l.VIP) || slices.ContainsFunc(l.AdditionalVIPs, requested)) &&
		slices.ContainsFunc(l.Listeners, func(l lb.Listener) bool { return l.TLS != nil })
}

// changes plans the changes of one load balancer. Restrictions of access, and what keeps traffic flowing on ports that
// stay, come before new ports; ports are closed last.
type changes struct {
	owner lb.Owner
	id    string
	// dualStack is whether the load balancer has VIPs of both families, grouped whether it has security groups.
	dualStack, grouped                                                         bool
	mark, listeners, failed, reopening, settings, leftBehind, opening, closing []Op
	members                                                                    []memberChange
	// restricting sets the security groups of the VIP, admitting removes them.
	restricting, admitting []Op
	// detached are pools that no listener uses now, and that none will use after the plan so far.
	detached []lb.Pool
	// uses counts, by pool id, the listeners that will have the pool. kept counts those among them that are ours and
	// stay. Listeners can share a pool, and a user may have set that by hand.
	uses, kept map[string]int
	wanted     lb.Wanted
	refused    []Refusal
}

func (t *changes) ops() []Op {
	return slices.Concat(t.mark, t.restricting, t.listeners, t.failed, t.reopening, inTurn(t.members), t.settings, t.leftBehind, t.opening, t.closing, t.admitting)
}

func compare(all lb.Wanted, have lb.LoadBalancer, owner lb.Owner) *changes {
	want := *all.LoadBalancer
	t := &changes{owner: owner, id: have.ID, dualStack: have.DualStack(), grouped: len(have.VIPSecurityGroups) > 0, detached: slices.Clone(have.DetachedPools),
		uses: map[string]int{}, kept: map[string]int{}, wanted: all}
	t.loadBalancer(want, have)
	access := t.vipGroups(want, have)
	t.deleteLeftBehind()
	unwanted := t.countPools(have.Listeners, want.Listeners)
	for _, l := range want.Listeners {
		i := slices.IndexFunc(have.Listeners, func(o lb.Listener) bool { return o.Key() == l.Key() })
		// Octavia cannot change a listener's protocol.
		opens := i < 0 || have.Listeners[i].Protocol != l.Protocol
		switch {
		case access == accessByGroups && (opens || t.grouped):
			l.AllowedCIDRs = nil
		case access != accessBySources && i >= 0:
			l.AllowedCIDRs = have.Listeners[i].AllowedCIDRs // the ranges are in force until the security groups are set
		}
		switch {
		case i >= 0 && !owner.OwnsListener(have.Listeners[i]):
			t.refused = append(t.refused, Refusal{ReasonPortInUse, fmt.Sprintf(
				"port %s of load balancer %s is used by %s (listener %s, %s, tags %q); use another port",
				portText(l.Key()), have.ID, userOf(owner, have.Listeners[i]), have.Listeners[i].ID, have.Listeners[i].Name, have.Listeners[i].Tags)})
		case opens && access == accessAsFound:
		case opens && t.wanted.KeepMonitors && hasMonitor(have):
			t.refused = append(t.refused, blockedByMonitor(l, have))
		case i < 0:
			unwanted = t.open(l, unwanted)
		case opens:
			unwanted = t.open(l, append(unwanted, have.Listeners[i]))
		default:
			t.update(l, have.Listeners[i])
		}
	}
	t.close(unwanted)
	return t
}

// userOf describes the owner of a listener that is not the owner's.
func userOf(owner lb.Owner, l lb.Listener) string {
	if service := owner.ServiceNamed(l.Tags); service != "" {
		return "Service " + service
	}
	return "another client"
}

// countPools counts the listeners of each pool, and returns our unwanted listeners.
func (t *changes) countPools(have, want []lb.Listener) (unwanted []lb.Listener) {
	for _, l := range have {
		ours := t.owner.OwnsListener(l)
		wanted := slices.ContainsFunc(want, func(w lb.Listener) bool { return w.Key() == l.Key() })
		if ours && !wanted {
			unwanted = append(unwanted, l)
		}
		if l.Pool == nil {
			continue
		}
		t.uses[l.Pool.ID]++
		if ours && wanted {
			t.kept[l.Pool.ID]++
		}
	}
	return unwanted
}

// loadBalancer marks the load balancer as ours and enables it.
func (t *changes) loadBalancer(want, have lb.LoadBalancer) {
	op := UpdateLoadBalancer{ID: have.ID}
	if tags := t.tags(want.Tags, have.Tags); !sameTags(tags, have.Tags) {
		op.Tags = &tags
	}
	if have.AdminDown != want.AdminDown {
		op.AdminDown = &want.AdminDown
	}
	if op.Tags != nil || op.AdminDown != nil {
		t.mark = append(t.mark, op)
	}
	t.checkAddress(want.VIP, have.VIP)
	for i, vip := range want.AdditionalVIPs {
		if i < len(have.AdditionalVIPs) {
			t.checkAddress(vip, have.AdditionalVIPs[i])
		}
	}
}

// tags returns the new tags of the load balancer.
func (t *changes) tags(want, have []string) []string {
	if !t.owner.Sharer {
		return lb.Retag(have, want)
	}
	// A load balancer of another owner gets no other tags of ours.
	tags := slices.Clone(have)
	for _, tag := range t.owner.SharerTags() {
		if slices.Contains(want, tag) && !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return tags
}

// retag changes the tags of a listener or pool that stays. Our listeners and pools have our tags since their creation.
// Those of openstack-cloud-controller-manager keep their tags until custom tags change.
func (t *changes) retag(op SetTags, want, have []string) {
	if lb.CustomDiffer(have, want) {
		op.Tags = lb.Retag(have, want)
		t.settings = append(t.settings, op)
	}
}

// checkAddress refuses another address for an existing VIP.
func (t *changes) checkAddress(want, have lb.VIP) {
	if want.Address != "" && !sameAddress(want.Address, have.Address) {
		t.refused = append(t.refused, Refusal{ReasonAddressImmutable, fmt.Sprintf(
			"load balancer %s has VIP %s, which Octavia cannot change to %s; request %s, or delete the Service and create it again",
			t.id, have.Address, want.Address, have.Address)})
	}
}

// update plans the changes of a listener that stays, and of its pool. Without a wanted pool, the listener keeps its
// pool, if it has one.
func (t *changes) update(want, have lb.Listener) {
	op := UpdateListener{ID: have.ID, Key: have.Key(), LeftBehind: have.ProvisioningStatus.Pending()}
	if want.ConnectionLimit != have.ConnectionLimit {
		op.ConnectionLimit = &want.ConnectionLimit
	}
	if !sameSources(want.AllowedCIDRs, have.AllowedCIDRs, t.dualStack) {
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
	if want.HSTS != have.HSTS {
		op.HSTS = &want.HSTS
	}
	if want.AdminDown != have.AdminDown {
		op.AdminDown = &want.AdminDown
	}
	replace := want.Pool != nil && !t.updatable(want.Pool, have.Pool)
	if op.LeftBehind && !replace {
		// Any write repairs it.
		op.ConnectionLimit = &want.ConnectionLimit
	}
	if inError(have.ProvisioningStatus) && !replace && !op.sets() {
		op = t.repeated(op, want, have)
	}
	if op.sets() {
		t.listeners = append(t.listeners, op)
	}
	t.retag(SetTags{Of: "listener", ID: have.ID, Name: have.Name}, want.Tags, have.Tags)
	switch {
	case want.Pool == nil:
	case replace:
		t.replace(want, have)
	case inError(have.Pool.ProvisioningStatus):
		t.updateFailed(*want.Pool, *have.Pool)
	default:
		t.updatePool(*want.Pool, *have.Pool)
	}
}

// updatable reports whether the existing pool of a listener can be changed to the wanted one.
func (t *changes) updatable(want, have *lb.Pool) bool {
	return have != nil && have.Protocol == want.Protocol && t.kept[have.ID] == 1 && !have.Unfinished() && !t.inOtherSubnet(*want, *have)
}

// inOtherSubnet reports whether members of the pool are in another subnet than wanted. Octavia cannot move a
// member. A member without a subnet is in the subnet of the VIP.
func (t *changes) inOtherSubnet(want, have lb.Pool) bool {
	return t.wanted.MoveMembers && slices.ContainsFunc(have.Members, func(m lb.Member) bool {
		i := slices.IndexFunc(want.Members, func(w lb.Member) bool { return w.Key() == m.Key() })
		return i >= 0 && m.SubnetID != "" && m.SubnetID != want.Members[i].SubnetID
	})
}

// replace gives a listener a new, complete pool, and then deletes the old one. It is for a pool that is missing, that
// another listener of ours shares, that Octavia left PENDING, or whose protocol or member subnet cannot be changed.
func (t *changes) replace(want, have lb.Listener) {
	id, ready := t.createPool(*want.Pool)
	if !ready {
		return
	}
	behind := have.Pool != nil && have.Pool.Unfinished()
	t.opening = append(t.opening, UpdateListener{ID: have.ID, Key: have.Key(), PoolID: &id, LeftBehind: behind})
	if behind {
		t.opening = append(t.opening, t.drop(have.Pool)...)
		return
	}
	t.closing = append(t.closing, t.drop(have.Pool)...)
}

// drop deletes a pool that a listener no longer uses, unless another listener uses it.
func (t *changes) drop(p *lb.Pool) []Op {
	if p == nil {
		return nil
	}
	t.uses[p.ID]--
	if t.uses[p.ID] > 0 {
		return nil
	}
	return []Op{DeletePool{ID: p.ID, Name: p.Name, LeftBehind: p.Unfinished(), Failed: inError(p.ProvisioningStatus)}}
}

// open plans a new listener, after its complete pool, so that the port opens with members behind it. Listeners in
// unwanted on the same port are deleted just before it and removed from the result: Octavia cannot change a listener's
// protocol, and accepts no second listener for a port. If the pool is already complete and the port is free, the new
// listener comes first of all, directly after restrictions: an earlier pass may have deleted the old listener in order
// to open this one. A metrics listener, which has no pool, can wait.
func (t *changes) open(want lb.Listener, unwanted []lb.Listener) []lb.Listener {
	before, id, ready := len(t.opening), "", true
	if want.Pool != nil {
		id, ready = t.createPool(*want.Pool)
	}
	rest := unwanted[:0:0]
	if !ready {
		// The listeners on the port stay until the pool works.
		return append(rest, slices.DeleteFunc(slices.Clone(unwanted), func(l lb.Listener) bool { return l.Port == want.Port })...)
	}
	for _, l := range unwanted {
		// Before API version 2.13, TCP and UDP cannot share a port number.
		if l.Port != want.Port {
			rest = append(rest, l)
			continue
		}
		t.opening = append(t.opening, deleteListener(l))
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

// close deletes unwanted listeners, and all our pools that nothing uses.
func (t *changes) close(unwanted []lb.Listener) {
	for _, l := range unwanted {
		t.closing = append(t.closing, deleteListener(l))
		t.closing = append(t.closing, t.drop(l.Pool)...)
	}
	for _, p := range t.detached {
		if t.owner.OwnsPool(p) {
			t.closing = append(t.closing, DeletePool{ID: p.ID, Name: p.Name, Failed: inError(p.ProvisioningStatus)})
		}
	}
}

func deleteListener(l lb.Listener) DeleteListener {
	return DeleteListener{ID: l.ID, Key: l.Key(), Failed: inError(l.ProvisioningStatus)}
}
