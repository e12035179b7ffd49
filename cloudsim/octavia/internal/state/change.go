// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"slices"
	"time"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/provider"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

type changeTimes struct{ build, update, delete time.Duration }

// Change is a change of one load balancer by Octavia's worker. Meanwhile the load balancer is
// locked: it is in a PENDING status.
type Change struct {
	state   *State
	lb      *model.LoadBalancer
	touched []*model.Object // become ACTIVE, or ERROR if it fails
	remove  func()          // removes deleted children from the state; may be nil
	// removeAnyway removes those that the worker has deleted before it fails; may be nil.
	removeAnyway func()
	// partByPart means that a provider that finishes late reports all existing parts as ACTIVE when it has finished the
	// first one.
	partByPart bool
	fail       bool
	// failing are the children that end in ERROR if failsChildren is set: then the worker does not carry out the
	// change.
	failing       []*model.Object
	failsChildren bool
	ofChildren    bool // it changes children, of which there may be none
	admits        bool // it changes which clients may connect to which port
	due           bool // its time is over, but the load balancer is held
	stuck         bool // it never ends
	// takes is the duration with amphorae.
	takes time.Duration
	timer *time.Timer
}

// SetTimes sets the duration of changes that begin from now on.
func (s *State) SetTimes(build, update, remove time.Duration) {
	s.times = changeTimes{build: build, update: update, delete: remove}
}

// Begin begins a change: if the load balancer is ACTIVE or in one of the other given statuses, it
// gets the status to. Otherwise Begin returns nil. Then one of the change's methods makes the
// changes and starts it.
func (s *State) Begin(ctx context.Context, lb *model.LoadBalancer, to model.ProvisioningStatus, or ...model.ProvisioningStatus) *Change {
	if lb.Provisioning != model.Active && !slices.Contains(or, lb.Provisioning) {
		return nil
	}
	c := &Change{state: s, lb: lb, fail: wire.FaultError(ctx), failsChildren: wire.FaultErrorOfChildren(ctx)}
	s.changes[lb] = c
	if _, behind := s.inForce[lb]; c.failsChildren && !behind {
		s.inForce[lb] = provider.DataPlane(lb)
	}
	lb.Changing = true
	s.mark(&lb.Object, to)
	return c
}

func (s *State) mark(o *model.Object, to model.ProvisioningStatus) {
	o.Provisioning = to
	o.Updated = s.Now()
}

// about sets the children that end in ERROR if the worker fails. The other objects that the change has locked become
// ACTIVE then, as after a success.
func (c *Change) about(children ...*model.Object) {
	c.ofChildren = true
	c.failing = append(c.failing, children...)
}

// aboutListener is about for a listener. The worker for amphorae writes all listeners of a load balancer together. If
// this fails, it puts all of them into ERROR.
func (c *Change) aboutListener(l *model.Listener) {
	if c.lb.Provider == provider.OVN {
		c.about(&l.Object)
		return
	}
	for _, other := range c.lb.Listeners {
		c.about(&other.Object)
	}
}

// touch puts an object of the change into a PENDING status.
func (c *Change) touch(o *model.Object, to model.ProvisioningStatus) {
	delete(c.state.late, o)
	c.state.mark(o, to)
	c.touched = append(c.touched, o)
}

// Admits marks the change as one of the clients that may connect to a port.
func (c *Change) Admits() { c.admits = true }

// add adds a new object, in PENDING_CREATE, to the change.
func (c *Change) add(o *model.Object) { c.touched = append(c.touched, o) }

// touchPool marks a pool and its listeners, as every change of the pool or of its parts does.
func (c *Change) touchPool(p *model.Pool) {
	for _, o := range provider.AbovePool(p) {
		c.touch(o, model.PendingUpdate)
	}
}

// touchMonitored is touchPool for a change of the pool's monitor.
func (c *Change) touchMonitored(m *model.Monitor, deletes bool) {
	pending, finished := provider.AboveMonitor(m.Pool, c.state.options.WholeTree, deletes)
	for _, o := range pending {
		c.state.mark(o, model.PendingUpdate)
	}
	c.touched = append(c.touched, finished...)
	c.stuck = provider.MonitorNeverEnds(m)
}

// touchPolicy marks a policy and its listener, as every change of the policy does.
func (c *Change) touchPolicy(policy *model.L7Policy) {
	c.touch(&policy.Listener.Object, model.PendingUpdate)
	c.touch(&policy.Object, model.PendingUpdate)
}

// Start starts the change. It ends after its duration, and never before the caller has released the
// lock.
func (c *Change) Start() {
	s := c.state
	if s.closed || c.stuck {
		return
	}
	d := s.times.update
	switch c.lb.Provisioning {
	case model.PendingCreate:
		d = s.times.build
	case model.PendingDelete:
		d = s.times.delete
	}
	if s.options.Vary != nil {
		d = s.options.Vary(d)
	}
	c.takes = d
	d = provider.ChangeTime(c.lb, d)
	s.running.Add(1)
	c.timer = time.AfterFunc(d, func() {
		defer s.running.Done()
		c.finish()
	})
}

// finish ends a change, unless its load balancer is held.
func (c *Change) finish() {
	s, lb := c.state, c.lb
	s.Lock()
	if s.closed || s.changes[lb] != c {
		s.Unlock()
		return
	}
	if lb.Held || s.held {
		c.due = true
		s.Unlock()
		return
	}
	if lb.Provisioning == model.PendingDelete && !c.fail {
		// The VIP is released first: a load balancer is gone only when its port is. Neutron calls
		// back, so it must be called without the lock.
		s.Unlock()
		err := s.options.ReleaseVIP(lb.Port)
		s.Lock()
		c.fail = c.fail || err != nil
	}
	if c.admits && !c.fail && !c.failsChildren && lb.Provider != provider.OVN {
		rules, groups := provider.VIPRules(lb), lb.VIPGroups
		s.Unlock()
		there, err := s.options.SetVIPRules(lb.Port, rules)
		if err == nil {
			err = s.options.SetVIPGroups(lb.Port, groups)
		}
		s.Lock()
		if err != nil {
			c.failsChildren = true
			s.admitted[lb] = there
		} else {
			delete(s.admitted, lb)
		}
	}
	c.settle()
	s.Unlock()
	if s.options.OnChange != nil {
		s.options.OnChange(lb.ID.String())
	}
}

// settle writes the result of a change to the state.
func (c *Change) settle() {
	s, lb := c.state, c.lb
	delete(s.changes, lb)
	lb.Changing = false
	if lb.Provisioning == model.PendingDelete && !c.fail {
		s.drop(lb)
		return
	}
	if c.failsChildren && c.ofChildren && !c.fail {
		c.settleFailedChildren()
		return
	}
	if c.fail || c.failsChildren {
		// If a load balancer could not be built, its children stay PENDING.
		if lb.Provisioning != model.PendingCreate {
			for _, o := range c.touched {
				s.mark(o, model.InError)
			}
		}
		s.mark(&lb.Object, model.InError)
		return
	}
	if s.options.LateChildren && lb.Provider == provider.OVN {
		c.settleLate()
	} else {
		c.settleParts()
	}
	delete(s.inForce, lb)
	lb.Built = true
	s.mark(&lb.Object, model.Active)
	s.rollUp(lb)
}

// settleParts reports the parts of the change as done.
func (c *Change) settleParts() {
	for _, o := range append(c.touched, provider.ActiveBesides(c.lb, c.touched)...) {
		c.state.mark(o, model.Active)
	}
	if c.remove != nil {
		c.remove()
	}
}

// settleFailedChildren ends a change at which the worker failed: the load balancer works as before, and the values that
// the API shows are not in effect.
func (c *Change) settleFailedChildren() {
	s := c.state
	for _, o := range c.touched {
		s.mark(o, model.Active)
	}
	for _, o := range c.failing {
		s.mark(o, model.InError)
	}
	if c.removeAnyway != nil {
		c.removeAnyway()
	}
	s.mark(&c.lb.Object, model.Active)
	s.rollUp(c.lb)
}

// Hold prevents changes of the load balancer from ending, including those that begin later. If hold
// is false they can end again, and a change whose time is over ends at once.
func (s *State) Hold(lb *model.LoadBalancer, hold bool) {
	lb.Held = hold
	s.resume(lb)
}

// HoldAll is Hold for all load balancers, in addition to those that are held individually.
func (s *State) HoldAll(hold bool) {
	s.held = hold
	for lb := range s.LoadBalancers.All() {
		s.resume(lb)
	}
}

func (s *State) resume(lb *model.LoadBalancer) {
	c := s.changes[lb]
	if c == nil || !c.due || lb.Held || s.held || s.closed {
		return
	}
	c.due = false
	s.running.Go(c.finish)
}

// Fail puts a load balancer into ERROR: at once or, if a change is in progress, at its end.
func (s *State) Fail(lb *model.LoadBalancer) {
	if c := s.changes[lb]; c != nil {
		c.fail = true
		return
	}
	s.mark(&lb.Object, model.InError)
}
