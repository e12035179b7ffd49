// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"maps"
	"net"
	"reflect"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// guard checks, after each op, everything that must hold in every state.
func (j *convergence) guard(op Op) {
	j.Helper()
	now := j.cloud.observe().LoadBalancer
	if now == nil || j.start.LoadBalancer == nil || j.wanted.LoadBalancer == nil || now.ID != j.start.LoadBalancer.ID {
		return
	}
	j.opensComplete(op, now)
	j.reopens(op)
	for _, before := range j.start.LoadBalancer.Listeners {
		i := slices.IndexFunc(now.Listeners, func(l lb.Listener) bool { return l.ID == before.ID })
		wanted := find(j.wanted.LoadBalancer.Listeners, before.Key())
		switch {
		case !j.cloud.owner.OwnsListener(before):
			if i < 0 || !reflect.DeepEqual(before, now.Listeners[i]) && !cmp.Equal(before, now.Listeners[i], j.foreign(before)) {
				j.Fatalf("%T (%v) touches listener %s, which is not ours%s", op, op, before.ID, j)
			}
		case wanted == nil || wanted.Protocol != before.Protocol:
		case i < 0:
			j.Fatalf("%T (%v) closes %v, which stays%s", op, op, before.Key(), j)
		default:
			j.serves(op, before, now.Listeners[i], *wanted)
		}
	}
	for _, before := range j.start.LoadBalancer.DetachedPools {
		i := slices.IndexFunc(now.DetachedPools, func(p lb.Pool) bool { return p.ID == before.ID })
		if !j.cloud.owner.OwnsPool(before) && (i < 0 || !reflect.DeepEqual(before, now.DetachedPools[i])) {
			j.Fatalf("%T (%v) touches pool %s, which is not ours%s", op, op, before.ID, j)
		}
	}
}

// reopens checks a port that was closed because its protocol changes: no other op comes before it is open again.
func (j *convergence) reopens(op Op) {
	j.Helper()
	if !op.Octavia() {
		return
	}
	create, creates := op.(CreateListener)
	if j.closed != 0 && (!creates || create.Listener.Port != j.closed) {
		j.Fatalf("%T (%v) comes while port %d is closed%s", op, op, j.closed, j)
	}
	j.closed = 0
	if end, ends := op.(DeleteListener); ends {
		// A metrics listener carries no traffic of clients, and opens last.
		if l := find(j.wanted.LoadBalancer.Listeners, end.Key); l != nil && l.Protocol != lb.ListenerPrometheus {
			j.closed = end.Key.Port
		}
	}
}

// serves checks a port that stays: it always has its pool, the pool has the members that stay, and it is never open
// to sources that were and will be excluded.
func (j *convergence) serves(op Op, before, now, wanted lb.Listener) {
	j.Helper()
	shared := before.Pool != nil && !j.mine(*before.Pool)
	unfinished := before.Pool != nil && before.Pool.Unfinished()
	if !shared && !unfinished && !before.ProvisioningStatus.Pending() && !reflect.DeepEqual(before, now) && asWanted(before, wanted) {
		j.Fatalf("%T (%v) touches port %v, which is as it is wanted%s", op, op, before.Key(), j)
	}
	if !sameSet(now.AllowedCIDRs, before.AllowedCIDRs) && !sameSet(now.AllowedCIDRs, wanted.AllowedCIDRs) {
		j.Fatalf("%T (%v) opens %v to %v%s", op, op, before.Key(), now.AllowedCIDRs, j)
	}
	if before.Pool == nil || wanted.Pool == nil {
		return
	}
	if now.Pool == nil || before.Pool.Protocol == wanted.Pool.Protocol && !shared && !unfinished && now.Pool.ID != before.Pool.ID {
		j.Fatalf("%T (%v) takes the pool of %v away%s", op, op, before.Key(), j)
	}
	there := keys(now.Pool.Members)
	for key := range keys(before.Pool.Members) {
		if keys(wanted.Pool.Members)[key] && !there[key] {
			j.Fatalf("%T (%v) takes member %v from %v, which stays%s", op, op, key, before.Key(), j)
		}
	}
}

// foreign compares a listener that is not ours. If one of our listeners shares its pool, the contents of the pool
// are ours; but the listener keeps the pool.
func (j *convergence) foreign(l lb.Listener) cmp.Option {
	if l.Pool == nil || j.mine(*l.Pool) {
		return cmp.Options{}
	}
	return cmp.Comparer(func(a, b lb.Pool) bool { return a.ID == b.ID })
}

// mine reports whether only one listener of the start uses the pool.
func (j *convergence) mine(p lb.Pool) bool {
	users := 0
	for _, l := range j.start.LoadBalancer.Listeners {
		if l.Pool != nil && l.Pool.ID == p.ID {
			users++
		}
	}
	return users == 1
}

// sharers counts the listeners of the start that share a pool with another.
func (j *convergence) sharers() int {
	n := 0
	if j.start.LoadBalancer == nil {
		return n
	}
	for _, l := range j.start.LoadBalancer.Listeners {
		if l.Pool != nil && !j.mine(*l.Pool) {
			n++
		}
	}
	return n
}

// opensComplete checks a port that was just opened or got another pool: everything wanted behind it exists.
func (j *convergence) opensComplete(op Op, now *lb.LoadBalancer) {
	j.Helper()
	var key lb.ListenerKey
	switch op := op.(type) {
	case CreateListener:
		key = op.Listener.Key()
	case UpdateListener:
		if op.PoolID == nil {
			return
		}
		key = op.Key
	default:
		return
	}
	wanted, opened := find(j.wanted.LoadBalancer.Listeners, key), find(now.Listeners, key)
	if wanted != nil && wanted.Protocol == lb.ListenerPrometheus {
		if opened == nil || opened.Pool != nil || !sameSet(opened.AllowedCIDRs, wanted.AllowedCIDRs) {
			j.Fatalf("%T (%v) opens %+v for metrics%s", op, op, opened, j)
		}
		return
	}
	if wanted == nil || opened == nil || opened.Pool == nil {
		j.Fatalf("%T (%v) opens a port that is not wanted, or without a pool%s", op, op, j)
	}
	if !asWanted(lb.Listener{Pool: opened.Pool}, lb.Listener{Pool: wanted.Pool}) {
		j.Fatalf("%T (%v) opens %v onto a pool that is not complete (-wanted +there):\n%s%s", op, op, key, cmp.Diff(wanted.Pool, opened.Pool), j)
	}
	if _, created := op.(CreateListener); created && !sameSet(opened.AllowedCIDRs, wanted.AllowedCIDRs) {
		j.Fatalf("%T (%v) opens %v to %v%s", op, op, key, opened.AllowedCIDRs, j)
	}
}

// checkResult checks that the cloud has what is wanted, and nothing else of ours.
func (j *convergence) checkResult() {
	j.Helper()
	have, want := j.cloud.observe(), j.wanted.LoadBalancer
	j.floatingIPArrived(have)
	switch {
	case len(have.Duplicates) > 0:
		j.Errorf("duplicates are left: %v", have.Duplicates)
	case want == nil && have.LoadBalancer != nil && Shared(*have.LoadBalancer, j.cloud.owner):
		j.checkLeft(*have.LoadBalancer)
		return
	case want == nil && have.LoadBalancer != nil:
		j.Errorf("the load balancer is still there")
	case want == nil:
		return
	case have.LoadBalancer == nil:
		j.Fatalf("no load balancer%s", j)
	}
	l := have.LoadBalancer
	if LeftBehind(l, j.cloud.owner) {
		j.Errorf("parts of %+v are left behind%s", l, j)
	}
	for _, tag := range want.Tags {
		if !slices.Contains(l.Tags, tag) && !strings.HasPrefix(tag, "kube-octavia.tags=") {
			j.Errorf("tag %s is missing: %v", tag, l.Tags)
		}
	}
	if j.cloud.owner.Owns(*l) && lb.CustomDiffer(l.Tags, want.Tags) {
		j.Errorf("the load balancer has tags %q, want %q%s", l.Tags, want.Tags, j)
	}
	for _, w := range want.Listeners {
		got := find(l.Listeners, w.Key())
		if got == nil && j.wanted.KeepMonitors && hasMonitor(*l) {
			continue // a new listener would leave the load balancer PENDING for ever
		}
		if got == nil {
			j.Errorf("no listener for %v%s", w.Key(), j)
		} else if j.cloud.owner.OwnsListener(*got) && !asWanted(*got, w) {
			j.Errorf("port %v is not as wanted (-wanted +there):\n%s%s", w.Key(), cmp.Diff(w, *got), j)
		}
	}
	for _, got := range l.Listeners {
		owner := j.cloud.owner
		owner.Sharer = !owner.Owns(*l)
		if owner.OwnsListener(got) && find(want.Listeners, got.Key()) == nil {
			j.Errorf("listener %s for %v is left%s", got.ID, got.Key(), j)
		}
	}
	for _, p := range l.DetachedPools {
		if j.cloud.owner.OwnsPool(p) {
			j.Errorf("pool %s (%s) is left%s", p.ID, p.Name, j)
		}
	}
}

// checkLeft checks that nothing of ours remains on a load balancer with sharers.
func (j *convergence) checkLeft(l lb.LoadBalancer) {
	j.Helper()
	if l.ProvisioningStatus != lb.Active {
		return
	}
	owner := j.cloud.owner
	owner.Sharer = !owner.Owns(l)
	for _, tag := range []string{owner.LoadBalancerName(), owner.ServiceTag()} {
		if slices.Contains(l.Tags, tag) {
			j.Errorf("the load balancer bears our marks: %v", l.Tags)
		}
	}
	if !owner.Sharer && lb.CustomDiffer(l.Tags, nil) {
		j.Errorf("the load balancer bears our custom tags: %v", l.Tags)
	}
	used := map[string]bool{}
	for _, got := range l.Listeners {
		if owner.OwnsListener(got) {
			j.Errorf("listener %s for %v is left%s", got.ID, got.Key(), j)
		} else if got.Pool != nil {
			used[got.Pool.ID] = true
		}
	}
	for _, p := range l.DetachedPools {
		if j.cloud.owner.OwnsPool(p) && !used[p.ID] {
			j.Errorf("pool %s (%s) is left%s", p.ID, p.Name, j)
		}
	}
}

func (j *convergence) floatingIPArrived(have lb.Observed) {
	j.Helper()
	plan := New(j.wanted, have, j.cloud.owner)
	refused := slices.ContainsFunc(plan.Refused, func(r Refusal) bool { return r.Reason == ReasonFloatingIPInUse || r.Reason == ReasonFloatingIPNotFound })
	var on []lb.FloatingIP
	for _, f := range have.FloatingIPs {
		attached := have.LoadBalancer != nil && f.PortID == have.LoadBalancer.VIP.PortID && f.PortID != ""
		if attached {
			on = append(on, f)
		}
		made := f.Description == j.cloud.owner.FloatingIPDescription() || f.Description == cloudControllerFloating
		shared := j.wanted.LoadBalancer == nil && have.LoadBalancer != nil && Shared(*have.LoadBalancer, j.cloud.owner)
		if made && f.PortID == "" && !j.wanted.KeepFloatingIP && !refused && !shared {
			j.Errorf("floating IP %s of ours leads nowhere and is left%s", f.ID, j)
		}
	}
	want := j.wanted.FloatingIP
	switch {
	case refused, j.wanted.KeepAddress, j.wanted.LoadBalancer == nil && have.LoadBalancer != nil && Shared(*have.LoadBalancer, j.cloud.owner):
	case want == nil && len(on) > 0:
		j.Errorf("floating IP %s is still attached%s", on[0].ID, j)
	case want != nil && len(on) != 1:
		j.Errorf("%d floating IPs lead to the load balancer, want 1%s", len(on), j)
	case want != nil && lb.CustomDiffer(on[0].Tags, want.Tags):
		j.Errorf("floating IP %s has tags %q, want %q%s", on[0].ID, on[0].Tags, want.Tags, j)
	case want != nil && want.Address != "" && on[0].Address != want.Address:
		j.Errorf("floating IP %s is attached, want %s%s", on[0].Address, want.Address, j)
	}
}

// asWanted compares what matters to clients of a port, by its own rules.
func asWanted(have, want lb.Listener) bool {
	alike := cmp.Options{
		cmpopts.IgnoreFields(lb.Listener{}, "ID", "Name", "Tags", "AllowedCIDRs", "ProvisioningStatus"),
		cmpopts.IgnoreFields(lb.Pool{}, "ID", "Name", "Tags", "ProvisioningStatus"),
		cmpopts.IgnoreFields(lb.HealthMonitor{}, "ID", "Name", "Tags", "ProvisioningStatus"),
		cmpopts.IgnoreFields(lb.Member{}, "ID", "Name", "SubnetID", "ProvisioningStatus", "OperatingStatus"),
		cmpopts.SortSlices(func(a, b lb.Member) bool { return a.Address < b.Address || a.Address == b.Address && a.Port < b.Port }),
		cmpopts.SortSlices(func(a, b string) bool { return a < b }), // SNI is a set
		cmpopts.EquateEmpty(),
	}
	if want.Protocol == lb.ListenerPrometheus {
		have.Timeouts = want.Timeouts // metrics have none
	}
	if want.Pool == nil {
		have.Pool = nil
	} else if have.Pool != nil && have.Pool.Persistence != nil && want.Pool.Persistence != nil && noTimeoutRequested(*want.Pool.Persistence, *have.Pool.Persistence) {
		// Octavia's default is fine, too.
		pool, persistence := *have.Pool, *have.Pool.Persistence
		persistence.TimeoutSeconds = want.Pool.Persistence.TimeoutSeconds
		pool.Persistence = &persistence
		have.Pool = &pool
	}
	tagged := !lb.CustomDiffer(have.Tags, want.Tags) && (have.Pool == nil || want.Pool == nil || !lb.CustomDiffer(have.Pool.Tags, want.Pool.Tags))
	return tagged && sameSet(have.AllowedCIDRs, want.AllowedCIDRs) && cmp.Equal(have, want, alike)
}

// keepsTags checks that an op does not remove tags that a user set by hand.
func (j *convergence) keepsTags(op Op, before, after lb.Observed) {
	j.Helper()
	now := tagsByID(after)
	for id, tags := range tagsByID(before) {
		marks := slices.DeleteFunc(slices.Clone(tags), func(t string) bool { return !strings.HasPrefix(t, "kube-octavia.tags=") })
		for _, tag := range tags {
			hand := !lb.Reserved(tag) && !lb.CustomDiffer(append(marks, tag), nil)
			if left, there := now[id]; there && hand && !slices.Contains(left, tag) {
				j.Fatalf("%T (%v) takes tag %q from %s%s", op, op, tag, id, j)
			}
		}
	}
}

func tagsByID(o lb.Observed) map[string][]string {
	all := map[string][]string{}
	for _, f := range o.FloatingIPs {
		all[f.ID] = f.Tags
	}
	if l := o.LoadBalancer; l != nil {
		all[l.ID] = l.Tags
		for _, listener := range l.Listeners {
			all[listener.ID] = listener.Tags
		}
		eachPool(l, func(p *lb.Pool) { all[p.ID] = p.Tags })
	}
	return all
}

// noTimeoutRequested reports whether no timeout is wanted, or only the default of Kubernetes.
func noTimeoutRequested(want, have lb.Persistence) bool {
	return want.TimeoutSeconds == 0 || want.TimeoutSeconds == 3*60*60 && have.TimeoutSeconds == 0
}

// sameSet compares source ranges as sets of networks; an empty list is the same as the whole address space.
func sameSet(a, b []string) bool {
	set := func(all []string) map[string]bool {
		networks := map[string]bool{}
		for _, text := range all {
			if _, network, err := net.ParseCIDR(text); err == nil {
				networks[network.String()] = true
			} else {
				networks[text] = true
			}
		}
		if len(all) == 0 || networks["0.0.0.0/0"] || networks["::/0"] {
			return map[string]bool{"0.0.0.0/0": true}
		}
		return networks
	}
	return maps.Equal(set(a), set(b))
}

func find(all []lb.Listener, key lb.ListenerKey) *lb.Listener {
	for i := range all {
		if all[i].Key() == key {
			return &all[i]
		}
	}
	return nil
}

func keys(members []lb.Member) map[lb.MemberKey]bool {
	set := map[lb.MemberKey]bool{}
	for _, m := range members {
		set[m.Key()] = true
	}
	return set
}
