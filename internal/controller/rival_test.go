// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/claim"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/status"
	"github.com/kube-octavia/kube-octavia/internal/timing"
)

// patience is that of the tests here: five times in ten minutes.
var patience = timing.Delays{
	RivalLimit: 5, RivalMarkLimit: 5, RivalWindow: 10 * time.Minute, FirstRivalWait: time.Second, LastRivalWait: 10 * time.Second,
	FirstRivalPause: 10 * time.Minute, LastRivalPause: time.Hour,
}

// moment is something that happens so long after the start of a test, and what is to be
// done about the Service then.
type moment struct {
	after time.Duration
	// writes are things that somebody else writes to, changed is whether a user changes
	// the Service, and pass whether a pass is made that takes up work again if it may.
	writes        []string
	changed, pass bool
	want          stance
	wait          time.Duration
}

// writesAt are writes to things, all at the same time.
func writesAt(at time.Time, things ...string) []foreignWrite {
	writes := make([]foreignWrite, len(things))
	for i, thing := range things {
		writes[i] = foreignWrite{at: at, what: thing}
	}
	return writes
}

func TestSomebodyElseIsPutRightThenWaitedForThenLeftAlone(t *testing.T) {
	again := []string{onService}
	stopped := []moment{
		{after: 0, writes: again, want: goOn},
		{after: 1 * time.Second, writes: again, want: holdOn, wait: time.Second},
		{after: 3 * time.Second, writes: again, want: holdOn, wait: 4 * time.Second},
		{after: 8 * time.Second, writes: again, want: holdOn, wait: 10 * time.Second},
		{after: 20 * time.Second, writes: again, want: standAside, wait: 10 * time.Minute},
	}
	const end = 20*time.Second + 10*time.Minute
	resumed := append(append([]moment{}, stopped...), moment{after: end, pass: true, want: goOn})
	tests := map[string][]moment{
		"one write":                  {{after: 0, writes: again, want: goOn}},
		"one write to each of three": {{after: 0, writes: []string{"a", "b", "c"}, want: goOn}},
		"different things, one by one": {
			{after: 0, writes: []string{"a"}, want: goOn}, {after: 1, writes: []string{"b"}, want: goOn},
			{after: 2, writes: []string{"c"}, want: goOn}, {after: 3, writes: []string{"d"}, want: goOn},
			{after: 4, writes: []string{"e"}, want: goOn}, {after: 5, writes: []string{"f"}, want: goOn},
		},
		"a second one, and the end of the wait": {
			{after: 0, writes: again, want: goOn},
			{after: time.Second, writes: again, want: holdOn, wait: time.Second},
			{after: 2 * time.Second, want: goOn},
		},
		"one every ten minutes": {
			{after: 0, writes: again, want: goOn}, {after: 10 * time.Minute, writes: again, want: goOn},
			{after: 20 * time.Minute, writes: again, want: goOn}, {after: 30 * time.Minute, writes: again, want: goOn},
			{after: 40 * time.Minute, writes: again, want: goOn},
		},
		"again and again": stopped,
		"and while work is stopped": append(append([]moment{}, stopped...),
			moment{after: time.Minute, writes: again, want: standAside, wait: end - time.Minute}),
		"the end of the pause": resumed,
		"a person makes a mistake after the pause": append(append([]moment{}, resumed...),
			moment{after: end + time.Second, writes: again, want: goOn}),
		"and it goes on after the pause": append(append([]moment{}, resumed...),
			moment{after: end + time.Second, writes: again, want: goOn},
			moment{after: end + 2*time.Second, writes: again, want: standAside, wait: 20 * time.Minute}),
		"and it goes on before a pass was made": append(append([]moment{}, stopped...),
			moment{after: end + time.Second, writes: again, want: goOn},
			moment{after: end + 2*time.Second, writes: again, want: standAside, wait: 20 * time.Minute}),
		"it was quiet for long after the pause": append(append([]moment{}, resumed...),
			moment{after: end + time.Hour, writes: again, want: goOn},
			moment{after: end + time.Hour + time.Second, writes: again, want: holdOn, wait: time.Second}),
		"a user changes the Service": append(append([]moment{}, stopped...),
			moment{after: time.Minute, changed: true, want: goOn},
			moment{after: time.Minute, pass: true, want: goOn},
			moment{after: time.Minute, writes: again, want: goOn},
			moment{after: time.Minute, writes: again, want: standAside, wait: 20 * time.Minute},
			// It may be the other controller that changes it.
			moment{after: time.Minute, changed: true, want: standAside, wait: 4 * time.Second}),
		"a user changes it and nobody writes": {
			{after: 0, changed: true, want: goOn}, {after: 0, writes: again, want: goOn}, {after: 1, changed: true, want: goOn},
		},
	}
	for name, moments := range tests {
		t.Run(name, func(t *testing.T) {
			var known rivalry
			for i, m := range moments {
				now := noon.Add(m.after)
				if len(m.writes) > 0 {
					known = known.after(writesAt(now, m.writes...), now, patience)
				}
				if m.changed {
					known = known.changed(now, patience)
				}
				if m.pass && known.over(now) {
					known = known.resume(now)
				}
				if is, wait := known.stance(now); is != m.want || wait != m.wait {
					t.Fatalf("moment %d: stance %d for %v, want %d for %v", i, is, wait, m.want, m.wait)
				}
			}
		})
	}
}

func TestWhatOnlyControllersWriteIsGivenWayToSooner(t *testing.T) {
	for what, want := range map[string]stance{onService: standAside, "CreateListener": holdOn} {
		var known rivalry
		for range 3 {
			known = known.after(writesAt(noon, what), noon, timing.Default())
		}
		if is, _ := known.stance(noon); is != want {
			t.Errorf("%s written three times: stance %d, want %d", what, is, want)
		}
	}
}

// A controller may write to the Service what it wants, as users do, each time that it
// writes to what is ours.
func TestAControllerThatPassesForAUserIsPutRightEverLessOften(t *testing.T) {
	known, now, rights := rivalry{}, noon, 0
	for end := noon.Add(24 * time.Hour); now.Before(end); {
		if known.over(now) {
			known = known.resume(now)
		}
		is, wait := known.stance(now)
		if is != goOn {
			now = now.Add(wait)
			continue
		}
		rights++
		now = now.Add(time.Millisecond)
		known = known.after([]foreignWrite{{what: "x", at: now}}, now, patience).changed(now, patience)
	}
	// Five times at first, then twice after each of the pauses, which are up to an hour.
	if rights < 24 || rights > 80 {
		t.Errorf("it was put right %d times in a day", rights)
	}
}

func TestPausesGrowToTheLongest(t *testing.T) {
	known, now := rivalry{}, noon
	var pauses []time.Duration
	for range 5 {
		for {
			known = known.after([]foreignWrite{{what: "x", at: now}}, now, patience)
			if is, wait := known.stance(now); is == standAside {
				pauses = append(pauses, wait)
				now = now.Add(wait)
				break
			}
		}
		known = known.resume(now)
	}
	want := []time.Duration{10 * time.Minute, 20 * time.Minute, 40 * time.Minute, time.Hour, time.Hour}
	if d := cmp.Diff(want, pauses); d != "" {
		t.Errorf("pauses (-want +got):\n%s", d)
	}
}

func TestNobodyIsARivalWithoutALimit(t *testing.T) {
	var known rivalry
	for range 100 {
		known = known.after([]foreignWrite{{what: "x", at: noon}}, noon, timing.Delays{})
	}
	if is, _ := known.stance(noon); is != goOn || len(known.writes) > 0 {
		t.Errorf("stance %d, %d writes kept", is, len(known.writes))
	}
}

func TestWhatIsToldIsAllOnTheServiceAndWhatWasDoneAgainInTheCloud(t *testing.T) {
	known := rivalry{writes: []foreignWrite{
		{what: "CreateListener", texts: []string{"open port TCP/80"}},
		{what: onService, texts: []string{"status.loadBalancer", "annotation a"}},
		{what: "SetMembers", texts: []string{"set the members"}},
		{what: "CreateListener", texts: []string{"open port TCP/81"}},
		{what: onService, texts: []string{"finalizer f", "status.loadBalancer"}},
	}}
	if d := cmp.Diff([]string{"annotation a", "finalizer f", "status.loadBalancer"}, known.marks()); d != "" {
		t.Errorf("marks (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"open port TCP/81"}, known.undone()); d != "" {
		t.Errorf("undone (-want +got):\n%s", d)
	}
	if known.concerns("SetMembers") || !known.concerns("CreateListener") {
		t.Errorf("what is written once passes for a contest, or what is written twice does not")
	}
}

func TestMarksThatChangedAreNamed(t *testing.T) {
	after := told("Creating")
	after.Annotations = map[string]string{annotation.LoadBalancerAddress: "192.0.2.1", "example.com/x": "1"}
	after.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
	after.Status.Conditions[0].Message = "other"
	after.Finalizers = []string{claim.Finalizer, "example.com/x"}
	want := []string{
		"annotation loadbalancer.openstack.org/load-balancer-address", "annotation loadbalancer.openstack.org/load-balancer-id",
		"condition kube-octavia.io/Programmed", "finalizer service.kubernetes.io/load-balancer-cleanup", "status.loadBalancer",
	}
	if d := cmp.Diff(want, changedMarks(told("Creating"), after)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff(want, changedMarks(after, told("Creating"))); d != "" {
		t.Errorf("the other way round (-want +got):\n%s", d)
	}
}

func TestKubernetesSaysWhoWroteLast(t *testing.T) {
	entry := func(manager string, at time.Duration, fields string) metav1.ManagedFieldsEntry {
		when := metav1.NewTime(noon.Add(at))
		return metav1.ManagedFieldsEntry{Manager: manager, Time: &when, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	addresses := entry("occm", 0, `{"f:status":{"f:loadBalancer":{"f:ingress":{}}}}`)
	id := entry("hand", time.Second, `{"f:metadata":{"f:annotations":{".":{},"f:loadbalancer.openstack.org/load-balancer-id":{}}}}`)
	condition := entry("other", 0, `{"f:status":{"f:conditions":{".":{},"k:{\"type\":\"kube-octavia.io/Programmed\"}":{".":{},"f:reason":{}}}}}`)
	guard := entry("guard", 0, `{"f:metadata":{"f:finalizers":{".":{},"v:\"service.kubernetes.io/load-balancer-cleanup\"":{}}}}`)
	spec := entry("user", time.Hour, `{"f:spec":{"f:ports":{}}}`)
	torn := entry("torn", time.Hour, `{"f:status":`)
	all := []metav1.ManagedFieldsEntry{addresses, id, condition, guard, spec, torn, {Manager: "empty"}}
	for name, test := range map[string]struct {
		marks []string
		want  string
	}{
		"addresses":         {[]string{addressesMark}, `field manager "occm" at 2026-11-21T12:00:00Z`},
		"an annotation":     {[]string{annotationMark + annotation.LoadBalancerID}, `field manager "hand" at 2026-11-21T12:00:01Z`},
		"a condition":       {[]string{conditionMark + status.Programmed}, `field manager "other" at 2026-11-21T12:00:00Z`},
		"the finalizer":     {[]string{finalizerMark}, `field manager "guard" at 2026-11-21T12:00:00Z`},
		"the later of both": {[]string{addressesMark, annotationMark + annotation.LoadBalancerID}, `field manager "hand" at 2026-11-21T12:00:01Z`},
		"what nobody owns":  {[]string{annotationMark + annotation.LoadBalancerAddress}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := lastWriter(all, test.marks); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestWhatWasBelievedTellsWhoseChangeItWas(t *testing.T) {
	whole := converged().observed
	wanted := lb.Wanted{LoadBalancer: diff.Clone(whole).LoadBalancer}
	without := diff.Clone(whole)
	without.LoadBalancer.AdminDown = true
	owner := lb.Owner{ClusterUID: "c", ServiceUID: "uid-1"}
	kinds := func(writes []foreignWrite) (all []string) {
		for _, w := range writes {
			all = append(all, w.what)
		}
		return all
	}
	for name, test := range map[string]struct {
		believed lb.Observed
		undone   bool
	}{
		"everything was there":     {whole, true},
		"it was not there, either": {without, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := undone(wanted, test.believed, diff.New(wanted, without, owner), owner)
			if len(got) > 0 != test.undone {
				t.Errorf("undone: %v", kinds(got))
			}
		})
	}
	if got := undone(wanted, whole, diff.New(wanted, whole, owner), owner); len(got) > 0 {
		t.Errorf("nothing was done, and this passes for undone: %v", kinds(got))
	}
}

func TestWhatOctaviaDidIsNobodysChange(t *testing.T) {
	failed := diff.Clone(converged().observed)
	failed.LoadBalancer.ProvisioningStatus = lb.Error
	pending := diff.Clone(converged().observed)
	pending.LoadBalancer.ProvisioningStatus = lb.PendingUpdate
	for name, test := range map[string]struct {
		before, found lb.Observed
		believed      bool
	}{
		"it was changed":            {converged().observed, pending, true},
		"it is gone":                {converged().observed, lb.Observed{}, true},
		"it failed":                 {converged().observed, failed, false},
		"it had failed before":      {failed, converged().observed, false},
		"there was none":            {lb.Observed{}, converged().observed, false},
		"Octavia was at work on it": {pending, converged().observed, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := converged()
			r.observed = test.before
			r.believe(test.found)
			if got := r.believed != nil; got != test.believed {
				t.Errorf("believed: %v, want %v", got, test.believed)
			}
		})
	}
	r := converged()
	r.believe(pending)
	r.observed = pending
	r.believe(lb.Observed{})
	if r.believed == nil || r.believed.LoadBalancer.ProvisioningStatus != lb.Active {
		t.Errorf("what was believed before its change began is forgotten: %+v", r.believed)
	}
}
