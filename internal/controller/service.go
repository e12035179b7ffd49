// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/claim"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/metrics"
	"github.com/kube-octavia/kube-octavia/internal/octavia"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
	"github.com/kube-octavia/kube-octavia/internal/quota"
	"github.com/kube-octavia/kube-octavia/internal/status"
	"github.com/kube-octavia/kube-octavia/internal/timing"
)

// ServiceReconciler gives Services their load balancers. Its queue key is the
// Service that owns the load balancer, so that writes to one load balancer come
// one after the other.
type ServiceReconciler struct {
	*Planner
	// Client writes finalizers, annotations and status.
	Client client.Client
	// Uncached reads what the cache does not have.
	Uncached client.Reader
	Recorder events.EventRecorder
	Watcher  *octavia.Watcher
	Metrics  *metrics.Metrics

	timing timing.Delays
	memory *memory
	echoes *echoes
	rivals *rivals
	// observers counts the Services that are only observed.
	observers *observers
	now       func() time.Time
	// enqueue asks for a pass over a Service, and waiters wait for quota.
	enqueue func(types.NamespacedName)
	waiters *quota.Waiters
	// needs takes what the Services need of the nodes' security group; nil where none is
	// managed.
	needs *needs
	// refusedFailovers says where Octavia does not fail over for us.
	refusedFailovers refusedFailovers
}

// pass is one look at one Service, from what it wants to what was done.
type pass struct {
	service *corev1.Service
	owner   lb.Owner
	log     logr.Logger
	record  record
	// remembered is whether the record was known before the pass, and claimed
	// whether the Service was claimed before it.
	remembered, claimed bool
	// desire comes from gathering and building.
	desire
	// invalid is why the Service is refused. decided is whether it is known if
	// it is; membersOnly is whether, for this reason or another, no more is
	// wanted than that pools follow the nodes.
	invalid *build.Invalid
	decided bool
	// waits is for whom of its group the Service waits, or nil.
	waits       *waiting
	membersOnly bool
	plan        diff.Plan
	// complete is whether a load balancer that was built beside another one lacks nothing.
	complete bool
	// asks is a digest of what the Service asks for, policy what it wants done
	// about drift, and drift what is left as it is for that.
	asks   string
	policy annotation.Drift
	drift  []diff.Op
	// agrees is whether the cloud was seen to have everything that can be had.
	agrees  bool
	unready string
	done    bool
	// postponed is whether something was left out of the plan that is to be done
	// later, although the Service has all it asks for.
	postponed bool
	// wrote is whether an op was carried out.
	wrote bool
	// remedy is what is done about a load balancer that served and failed, and
	// requestID the id of the pass in the cloud's logs.
	remedy    remedy
	requestID string
	// woken is whether the Service waited for quota and something was freed.
	woken bool
	// groupLeft says why the Service still has a security group and nothing else.
	groupLeft string
	// onlyObserved is whether nothing is written but conditions.
	onlyObserved bool
	// delay is how long to leave the Service alone before the next attempt.
	delay time.Duration
}

// Reconcile makes one pass over the Service: it observes, gathers, builds,
// compares, does at most one Octavia op, and reports. It never waits: while
// Octavia is at work the watcher has the load balancer and brings the Service
// back.
func (r *ServiceReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	service := &corev1.Service{}
	if err := r.Reader.Get(ctx, request.NamespacedName, service); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(request.NamespacedName)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	defer r.memory.take(request.NamespacedName)()
	id := openstack.NewRequestID()
	ctx = openstack.WithRequestID(ctx, id)
	p := &pass{
		service:   service,
		owner:     r.Owner(service),
		log:       ctrl.LoggerFrom(ctx).WithValues("requestID", id),
		requestID: id,
		record:    r.memory.recall(request.NamespacedName, service.UID),
	}
	p.remembered, p.claimed = p.record.known, r.Claimed(service)
	p.owner.Guest = p.record.observed.Guest
	if r.Serves(service) || r.Leaves(service) {
		if result, only, err := r.lookOnly(ctx, p); only {
			return result, err
		}
	}
	switch {
	case r.Serves(service):
		return r.serve(ctx, p)
	case r.Leaves(service):
		return r.release(ctx, p)
	case p.record.holds() && claim.LostMark(service) && r.Adopt != AdoptObserve:
		// With the mark, the next controller knows it, too; and comes back for it.
		if err := r.claim(ctx, service); apierrors.IsConflict(err) {
			return reconcile.Result{RequeueAfter: timing.StaleRetry}, nil
		} else if err != nil {
			return reconcile.Result{}, err
		}
		return r.release(ctx, p)
	}
	if err := r.retract(ctx, p); apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: timing.StaleRetry}, nil
	} else if err != nil {
		return reconcile.Result{}, err
	}
	r.forget(request.NamespacedName)
	return reconcile.Result{}, nil
}

// serve is the pass for a Service that is to have a load balancer.
func (r *ServiceReconciler) serve(ctx context.Context, p *pass) (reconcile.Result, error) {
	if result, yields, err := r.yield(ctx, p); yields {
		return result, err
	}
	err := r.observe(ctx, p)
	if err == nil {
		err = r.gather(ctx, p)
	}
	if hasOrGets(p) {
		if err := r.claim(ctx, p.service); apierrors.IsConflict(err) {
			return reconcile.Result{RequeueAfter: timing.StaleRetry}, nil
		} else if err != nil {
			return reconcile.Result{}, err
		}
	}
	if p.decided {
		p.weigh(r.Config)
		err = errors.Join(err, r.storeCertificate(ctx, p))
	}
	if p.decided && !r.settled(p) {
		err = errors.Join(err, r.advance(ctx, p))
	}
	return r.finish(ctx, p, errors.Join(err, r.dropCertificates(ctx, p)))
}

// hasOrGets reports whether the Service has anything in the cloud, or may get it in
// this pass. One that is refused and has nothing is not claimed: it can go at any
// time, whether or not a controller runs.
func hasOrGets(p *pass) bool {
	return p.record.holds() || p.decided && !p.membersOnly
}

// gather finds out what is wanted. A Service that is refused is no error; nor
// does what cannot be looked up keep pools from following the nodes.
func (r *ServiceReconciler) gather(ctx context.Context, p *pass) error {
	var err error
	if p.desire, err = r.desire(ctx, p.service, &p.record.observed, p.record.alone, r.drained(p), p.record.certificate); !p.gathered {
		return err
	}
	p.tellCourse()
	p.invalid, p.membersOnly = invalid(err), err != nil
	p.record.certificate = p.input.Certificate
	errors.As(err, &p.waits)
	p.decided = p.invalid != nil || p.waits != nil || err == nil || p.record.observed.LoadBalancer != nil
	p.reduce()
	askForVIP(p)
	r.sayNeed(p)
	if p.invalid != nil || p.waits != nil {
		return nil
	}
	return err
}

// reduce lets no more be wanted than that pools follow the nodes, if that is all there is
// to do. What a Service that waits will have to do without it says all the same: whether
// it can be served does not depend on whose turn it is.
func (p *pass) reduce() {
	if !p.membersOnly {
		return
	}
	if p.course == buildBeside {
		p.course = keepOn // it would be built as the one is that serves
	}
	withheld := p.wanted.Withheld
	if p.wanted = build.MembersOnly(p.input, p.record.observed); p.waits != nil {
		p.wanted.Withheld = withheld
	}
}

// dependsOnOthers reports whether the Service is held up by those that share its load
// balancer, or are to.
func dependsOnOthers(p *pass) bool {
	return p.waits != nil || p.invalid != nil && p.invalid.Reason == build.ReasonSharingRefused
}

// sayNeed says what the Service needs of the nodes' security group. As long as that is not
// known, what was said before stands; a Service that is only observed says nothing.
func (r *ServiceReconciler) sayNeed(p *pass) {
	if r.needs == nil || !p.decided || p.onlyObserved {
		return
	}
	if what, ok := build.SecurityGroupNeed(p.input, p.wanted, p.record.observed); ok {
		r.needs.say(client.ObjectKeyFromObject(p.service), p.service.UID, what)
	}
}

// settled reports whether everything wanted was reached before and nobody changed
// the load balancer since.
func (r *ServiceReconciler) settled(p *pass) bool {
	reached := p.record.reached
	p.done = !p.membersOnly && p.course == keepOn && p.record.known && reached != nil && reflect.DeepEqual(*reached, p.wanted)
	return p.done
}

// advance takes the cloud one step from what it has to what is wanted.
func (r *ServiceReconciler) advance(ctx context.Context, p *pass) error {
	if err := r.seeRequested(ctx, p); err != nil {
		return err
	}
	if mustSee(p.record) {
		if err := r.verify(ctx, p); err != nil {
			return err
		}
	}
	if patient, err := r.hasPatience(ctx, p); err != nil {
		return err
	} else if patient {
		p.plan = meanwhile(p)
		p.hold()
		return r.apply(ctx, p)
	}
	p.reduce()
	if r.mustWait(p) {
		return nil
	}
	if failedLater(p.service, p.record.observed) {
		return r.treat(ctx, p)
	}
	if p.course == buildBeside {
		return r.buildBeside(ctx, p)
	}
	if r.failedAtBirth(p.service, p.record.observed, p.owner) {
		p.record.fail(status.ReasonFailed, fmt.Sprintf("load balancer %s went into ERROR while Octavia built it; it is deleted and another one is built", p.record.observed.LoadBalancer.ID))
		p.plan = r.endOfFailedAtBirth(p.service, p.record.observed, p.owner)
	} else if err := r.compare(ctx, p); err != nil || r.contested(p) {
		return err
	}
	planned := len(p.plan.Ops)
	if err := r.apply(ctx, p); err != nil || planned == 0 {
		return err
	}
	if l := p.record.observed.LoadBalancer; l != nil && l.ProvisioningStatus == lb.Active && p.record.known {
		// Neutron has done its part at once, and there is nothing to wait for.
		return r.compare(ctx, p)
	}
	return nil
}

// compare plans the ops. When there are none it makes sure that this is true.
func (r *ServiceReconciler) compare(ctx context.Context, p *pass) error {
	if err := r.plan(ctx, p); err != nil {
		return err
	}
	r.withoutDiscards(p)
	if over, err := r.handOver(ctx, p); over || err != nil {
		return err
	}
	p.record.noteSteady(p.plan, p.wanted)
	if len(p.plan.Ops) == 0 {
		if err := r.confirm(ctx, p); err != nil {
			return err
		}
	}
	p.agree()
	p.hold()
	return nil
}

// plan plans the ops, and looks again at floating IPs before one is moved from
// where it was last seen: somebody may have moved it elsewhere since.
func (r *ServiceReconciler) plan(ctx context.Context, p *pass) error {
	p.plan, p.complete = p.plans(p.record.observed, p.owner)
	if !p.remembered || !slices.ContainsFunc(p.plan.Ops, p.movesFloatingIP) {
		return nil
	}
	if err := r.seeFloatingIPs(ctx, p); err != nil {
		return err
	}
	p.plan, p.complete = p.plans(p.record.observed, p.owner)
	return nil
}

// finish reports the pass, remembers it, and says when to look again.
func (r *ServiceReconciler) finish(ctx context.Context, p *pass, failure error) (reconcile.Result, error) {
	if p.done && !p.membersOnly && !p.postponed {
		wanted := p.wanted
		wanted.Serial = false // which matters to what is yet to be created
		p.record.reached, p.record.steadyFor, p.record.alone = &wanted, &wanted, false
	}
	if p.unsettled {
		p.record.known, p.delay = false, r.timing.DuplicateRetry
	}
	r.noteBehind(p)
	r.tellDrift(p, p.noteAgreement())
	r.noteQuota(p, failure)
	r.memory.store(client.ObjectKeyFromObject(p.service), p.record)
	r.needs.passed()
	if apierrors.IsConflict(failure) {
		// A note on the Service could not be written: the cache was behind.
		r.await(p)
		return reconcile.Result{RequeueAfter: timing.StaleRetry}, nil
	}
	if failure != nil && ctx.Err() != nil {
		// The controller was told to stop; nothing is wrong with the Service.
		return reconcile.Result{}, nil
	}
	err := r.noteAsked(context.WithoutCancel(ctx), p)
	if err == nil {
		err = r.report(context.WithoutCancel(ctx), p, failure)
	}
	r.await(p)
	switch {
	case apierrors.IsConflict(err):
		// The cache is behind; it will have caught up by then.
		return reconcile.Result{RequeueAfter: timing.StaleRetry}, nil
	case err != nil:
		return reconcile.Result{}, err
	}
	result, err := r.next(p, failure)
	if err != nil {
		return reconcile.Result{}, err
	}
	return r.soonEnough(p, result), nil
}

// longestSteady is how long an update of members may take before the Service is said not
// to be Programmed: some of its nodes may be gone.
const longestSteady = 5 * time.Minute

// patience is how much of that time is left.
func (r *ServiceReconciler) patience(p *pass) time.Duration {
	if p.record.behind.IsZero() {
		return longestSteady
	}
	return p.record.behind.Add(longestSteady).Sub(r.now())
}

// noteBehind notes since when the cloud lacks something that is wanted.
func (r *ServiceReconciler) noteBehind(p *pass) {
	l := p.record.observed.LoadBalancer
	switch has := p.done || l != nil && l.ProvisioningStatus == lb.Active && len(p.plan.Ops) == 0; {
	case has:
		p.record.behind = time.Time{}
	case p.record.behind.IsZero():
		p.record.behind = r.now()
	}
}

// await gives a load balancer on which Octavia works to the watcher.
func (r *ServiceReconciler) await(p *pass) {
	if old := p.record.observed.Predecessor; old != nil && old.ProvisioningStatus.Pending() {
		r.Watcher.Watch(old.ID)
	}
	switch l := p.record.observed.LoadBalancer; {
	case l == nil || !l.ProvisioningStatus.Pending():
	case l.ProvisioningStatus == lb.PendingDelete:
		r.Watcher.WatchDeletion(l.ID, l.VIP.PortID)
	default:
		r.Watcher.Watch(l.ID)
	}
}

func (r *ServiceReconciler) forget(key types.NamespacedName) {
	r.needs.drop(key)
	r.waiters.Leave(key)
	r.rivals.drop(key)
	r.observers.forget(key)
	if id := r.memory.forget(key); id != "" {
		r.Watcher.Forget(id)
	}
}

// served are the Service's families, if the load balancer serves more than one.
func (p *pass) served() []corev1.IPFamily {
	if l := p.wanted.LoadBalancer; l == nil || len(l.AdditionalVIPs) == 0 {
		return nil
	}
	return p.input.Families()
}

// report writes what the pass found out to the Service.
func (r *ServiceReconciler) report(ctx context.Context, p *pass, failure error) error {
	if known, is, _ := r.rivals.of(p.service); is == standAside && r.Serves(p.service) {
		return r.tellContest(ctx, p.service, known)
	}
	if openstack.Classify(failure) == openstack.Busy {
		// Somebody else's change is under way; it is awaited like ours.
		failure = nil
	}
	options, _ := annotation.Parse(p.service.Annotations, r.Config)
	suffix := ""
	if r.Config.IngressHostname {
		suffix = r.Config.IngressHostnameSuffix
	}
	waits := ""
	if p.waits != nil {
		waits = p.waits.Error()
	}
	failed, reason := p.record.failed, p.record.failedReason
	if p.groupLeft != "" {
		failed, reason = p.groupLeft, status.ReasonDeleting
	}
	unopened, openingFailed := r.needs.unopened(client.ObjectKeyFromObject(p.service), p.service.UID)
	told := status.Pass{
		Drift:              p.reported(),
		CertificateProblem: p.input.Certificate.Problem,
		Invalid:            p.invalid,
		Unknown:            annotation.Unknown(p.service.Annotations),
		Undecided:          failure != nil && (!p.decided || p.membersOnly),
		Observed:           p.record.observed,
		External:           p.wanted.FloatingIP != nil,
		Families:           p.served(),
		Hostname:           options.Hostname,
		Addresses:          options.StatusAddresses,

		ThroughLoadBalancer: build.ThroughLoadBalancer(p.wanted, options), HostnameSuffix: suffix,

		Leaving:      !r.Serves(p.service),
		OnlyObserved: p.onlyObserved,
		Left:         p.plan.Ops,
		Refused:      p.plan.Refused,
		Unready:      p.unready,
		Waits:        waits,
		Failed:       failed,
		FailedReason: reason,
		Replacing:    replacing(p),
		Steady:       p.record.steadyFor != nil && sameButMembers(*p.record.steadyFor, p.wanted),
		Late:         r.patience(p) <= 0,
		Err:          failure,
		Done:         p.done || p.ignores(),
		Unopened:     unopened, OpeningFailed: openingFailed,
	}
	p.tellBeside(&told)
	return r.publish(ctx, p.service, told)
}
