// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
)

// removedBy returns what an operation has removed from the load balancer, if its provider may still show it for a
// while.
func removedBy(f Facts, before memory.Cloud, after lb.Observed) memory.Removed {
	was, is := before.Observed.LoadBalancer, after.LoadBalancer
	if was == nil || is == nil || was.ID != is.ID || !f.Capabilities.FinishesLate(is.Provider) {
		return before.Removed
	}
	still := is.PartNames()
	there := func(name string) bool { return still[name] }
	parts := slices.DeleteFunc(slices.Sorted(maps.Keys(was.PartNames())), there)
	removed := before.Removed.With(parts, f.Now, f.Timing.Late)
	removed.Parts = slices.DeleteFunc(slices.Clone(removed.Parts), there) // a member that is added again
	return removed
}

// stillShown returns the parts that our own writes have removed but that the load balancer may still show. If its
// status tree was read in this pass, it returns those that the tree showed.
func (f Facts) stillShown() []string { return f.Record.Cloud.Removed.Shown(f.Now, f.Timing.Late) }

// removedDelay returns how long to wait before the tree is read again.
func (f Facts) removedDelay() time.Duration {
	return f.childrenDelay(f.loadBalancer().Provider, memory.Unfinished{Since: f.Record.Cloud.Removed.Since})
}

// unfinishedRemoval says that the load balancer still shows what was removed from it.
func (f Facts) unfinishedRemoval() string {
	shown := f.stillShown()
	text := fmt.Sprintf("load balancer %s is ACTIVE, but still shows %s, which was removed", f.loadBalancer().ID, shown[0])
	if len(shown) > 1 {
		text += fmt.Sprintf(" (and %d more)", len(shown)-1)
	}
	return text
}

// awaitRemoved does not change the members of a pool while the provider may still be removing some of them. If such a
// member is added again meanwhile, Octavia treats this as a change of the member, and the provider removes the member
// after the change.
func awaitRemoved(f Facts, d Decision) (_ Decision, waits bool) {
	l, i := f.loadBalancer(), slices.IndexFunc(d.Plan.Ops, diff.Op.Octavia)
	if f.Preview || i < 0 || l == nil || l.ProvisioningStatus != lb.Active || !diff.Within(d.Plan.Ops[i], *l) {
		return d, false
	}
	set, sets := d.Plan.Ops[i].(diff.SetMembers)
	ofPool := func(name string) bool { return strings.HasSuffix(name, " of pool "+set.PoolID) }
	switch {
	case !sets || !slices.ContainsFunc(f.stillShown(), ofPool):
		return d, false
	case !f.provided(NeedStatusTree):
		return d.needs(NeedStatusTree), true
	}
	d.Action, d.Unready, d.Delay = AwaitChildren, f.unfinishedRemoval(), f.removedDelay()
	d.Plan.Ops = slices.DeleteFunc(slices.Clone(d.Plan.Ops), diff.Op.Octavia)
	return hold(f, d), true
}
