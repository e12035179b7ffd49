// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// podWith is a Pod with these gates and conditions. A condition is written as type=status, or type=status:reason.
func podWith(gates string, conditions ...string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: "uid"}}
	pod.Status.PodIPs = []corev1.PodIP{{IP: "10.0.0.1"}, {IP: "fd00::1"}}
	for _, gate := range strings.Fields(gates) {
		pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: corev1.PodConditionType(gate)})
	}
	for _, c := range conditions {
		of, rest, _ := strings.Cut(c, "=")
		status, reason, _ := strings.Cut(rest, ":")
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodConditionType(of), Status: corev1.ConditionStatus(status), Reason: reason, LastTransitionTime: metav1.NewTime(noon),
		})
	}
	return pod
}

func leaving(pod *corev1.Pod) *corev1.Pod {
	pod.DeletionTimestamp = ptr.To(metav1.NewTime(noon))
	return pod
}

func TestOnlyReadinessGatesAreMissingFromAGatedPod(t *testing.T) {
	const ours, others, missing = "kube-octavia.io/web", "example.com/mesh", "Ready=False:ReadinessGatesNotReady"
	for name, c := range map[string]struct {
		pod          *corev1.Pod
		gated, waits bool
	}{
		"only our gate is missing":               {podWith(ours, missing), true, true},
		"our gate is False":                      {podWith(ours, missing, ours+"=False"), true, true},
		"our gate was just set":                  {podWith(ours, missing, ours+"=True"), true, false},
		"ready, which its slice may not show":    {podWith(ours, "Ready=True", ours+"=True"), true, false},
		"a gate of another controller too":       {podWith(ours+" "+others, missing), false, false},
		"the gate of another controller is True": {podWith(ours+" "+others, missing, others+"=True"), true, true},
		"another Service's gate too":             {podWith(ours+" kube-octavia.io/api", missing), true, true},
		"only another Service's gate":            {podWith("kube-octavia.io/api", missing), false, false},
		"a container is not ready":               {podWith(ours, "Ready=False:ContainersNotReady"), false, false},
		"a container is not ready any more":      {podWith(ours, "Ready=False:ContainersNotReady", ours+"=True"), false, false},
		"just created":                           {podWith(ours), false, false},
		"no gate":                                {podWith("", "Ready=True"), false, false},
		"being deleted":                          {leaving(podWith(ours, missing)), false, false},
		"a Service whose name begins like ours":  {podWith("kube-octavia.io/web-2", missing), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			var want []netip.Addr
			if c.gated {
				want = []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fd00::1")}
			}
			gated, waits := Gated(c.pod, "web")
			if !slices.Equal(want, gated) || waits != c.waits {
				t.Errorf("gated %v, waits %t, want %v, %t", gated, waits, want, c.waits)
			}
			Slim(c.pod)
			if slimGated, slimWaits := Gated(c.pod, "web"); !slices.Equal(slimGated, gated) || slimWaits != waits {
				t.Errorf("another answer for the Pod of the cache: %v, %t", slimGated, slimWaits)
			}
		})
	}
}

// Pods change often, and only these changes need a pass.
func TestAPassFollowsWhenOtherAddressesOfAPodCountAsReady(t *testing.T) {
	const gates, missing, failed = "kube-octavia.io/web kube-octavia.io/api", "Ready=False:ReadinessGatesNotReady", "Ready=False:ContainersNotReady"
	at := func(address string, pod *corev1.Pod) *corev1.Pod {
		pod.Status.PodIPs = []corev1.PodIP{{IP: address}}
		return pod
	}
	both := []string{"web", "api"}
	for name, c := range map[string]struct {
		before, after *corev1.Pod
		want          []string
	}{
		"a container fails":                     {podWith(gates, "Ready=True"), podWith(gates, failed), both},
		"a container is ready again":            {podWith(gates, failed), podWith(gates, "Ready=True"), both},
		"the Pod begins to end":                 {podWith(gates, "Ready=True"), leaving(podWith(gates, "Ready=True")), both},
		"another Pod has its name":              {at("10.0.0.1", podWith(gates, "Ready=True")), at("10.0.0.2", podWith(gates, "Ready=True")), both},
		"another Pod without our gates has it":  {podWith(gates, "Ready=True"), podWith("", "Ready=True"), both},
		"it is gone, and its end was missed":    {podWith(gates, "Ready=True"), nil, both},
		"it is gone after it ended":             {leaving(podWith(gates, "Ready=True")), nil, nil},
		"it is gone, and was not ready":         {podWith(gates, failed), nil, nil},
		"a gate is set, and the Pod is ready":   {podWith(gates, missing), podWith(gates, "Ready=True"), nil},
		"something else changes":                {podWith(gates, "Ready=True"), podWith(gates, "Ready=True", "Other=True"), nil},
		"a container fails that had failed":     {podWith(gates, failed), podWith(gates, failed, "Other=True"), nil},
		"a Pod without our gates becomes ready": {podWith("example.com/mesh", failed), podWith("example.com/mesh", "Ready=True"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := changed(c.before, c.after); !slices.Equal(c.want, got) {
				t.Errorf("passes over %v, want %v", got, c.want)
			}
		})
	}
}

func TestAPodTakesTrafficIfAllItsMembersDo(t *testing.T) {
	key := func(pod, address string) decide.PodMember { return decide.PodMember{Pod: pod, Address: address} }
	for name, c := range map[string]struct {
		taking map[decide.PodMember]bool
		want   bool
	}{
		"no member":                        {nil, false},
		"its member takes traffic":         {map[decide.PodMember]bool{key("web-1", "10.0.0.1"): true}, true},
		"its member takes no traffic":      {map[decide.PodMember]bool{key("web-1", "10.0.0.1"): false}, false},
		"takes traffic in one family only": {map[decide.PodMember]bool{key("web-1", "10.0.0.1"): true, key("web-1", "fd00::1"): false}, false},
		"takes traffic in both families":   {map[decide.PodMember]bool{key("web-1", "10.0.0.1"): true, key("web-1", "fd00::1"): true}, true},
		"another Pod takes no traffic":     {map[decide.PodMember]bool{key("web-1", "10.0.0.1"): true, key("web-2", "10.0.0.2"): false}, true},
		"member of another Pod":            {map[decide.PodMember]bool{key("web-2", "10.0.0.1"): true}, false},
		"an earlier Pod's member":          {map[decide.PodMember]bool{key("web-1", "10.0.0.9"): true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := takesTraffic(podWith(""), c.taking); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestTheLimitCountsFromWhenAllContainersWereReady(t *testing.T) {
	pod := podWith("", "ContainersReady=True")
	for name, c := range map[string]struct {
		started, now time.Time
		want         time.Duration
	}{
		"ready a minute ago":                {noon.Add(-time.Hour), noon.Add(time.Minute), 4 * time.Minute},
		"ready for long":                    {noon.Add(-time.Hour), noon.Add(time.Hour), -55 * time.Minute},
		"the controller leads for a minute": {noon.Add(time.Hour), noon.Add(61 * time.Minute), 4 * time.Minute},
		"the controller just began to lead": {noon.Add(time.Hour), noon.Add(time.Hour), 5 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			if left, counts := timeLeft(pod, c.started, c.now); left != c.want || !counts {
				t.Errorf("%v, %t, want %v", left, counts, c.want)
			}
		})
	}
	for _, pod := range []*corev1.Pod{podWith(""), podWith("", "ContainersReady=False")} {
		if _, counts := timeLeft(pod, noon, noon.Add(time.Hour)); counts {
			t.Errorf("the time of a Pod whose containers are not ready counts: %v", pod.Status.Conditions)
		}
	}
}

func TestGatesThatNoLoadBalancerSetsAreSetAtOnceOrAfterTheLimit(t *testing.T) {
	balancer := &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}}
	deleted := balancer.DeepCopy()
	deleted.DeletionTimestamp = ptr.To(metav1.NewTime(noon))
	for name, c := range map[string]struct {
		target target
		left   time.Duration
		reason string
		says   string
	}{
		"served, members are Pods":                       {target{service: balancer, serves: true, pods: true}, time.Second, "", ""},
		"served, members are Pods, after the limit":      {target{service: balancer, serves: true, pods: true}, 0, ReasonTimedOut, "within 5m0s"},
		"served, members are nodes":                      {target{service: balancer, serves: true}, time.Second, ReasonNotApplicable, "requests nodes"},
		"no such Service":                                {target{name: "web"}, time.Second, ReasonNotApplicable, "no Service web"},
		"of another type":                                {target{service: &corev1.Service{}}, time.Second, ReasonNotApplicable, "not of type LoadBalancer"},
		"of another controller, any type":                {target{service: &corev1.Service{}, others: true}, time.Second, "", ""},
		"of another controller, after the limit":         {target{service: &corev1.Service{}, others: true}, 0, ReasonTimedOut, "becomes ready anyway"},
		"being deleted":                                  {target{service: deleted}, time.Second, ReasonNotApplicable, "being deleted"},
		"perhaps of another controller":                  {target{service: balancer}, time.Second, "", ""},
		"perhaps of another controller, after the limit": {target{service: balancer}, -time.Second, ReasonTimedOut, "becomes ready anyway"},
	} {
		t.Run(name, func(t *testing.T) {
			got := judge(c.target, c.left)
			if got.reason != c.reason || !strings.Contains(got.message, c.says) {
				t.Errorf("got %+v, want %s with %q", got, c.reason, c.says)
			}
		})
	}
}

func TestThePatchIsOfOneConditionOfThisPod(t *testing.T) {
	got, err := patchOf(podWith(""), "web", outcome{"Why", "because"}, noon)
	const want = `{"metadata":{"uid":"uid"},"status":{"conditions":[{"lastTransitionTime":"2026-11-21T12:00:00Z","message":"because",` +
		`"reason":"Why","status":"True","type":"kube-octavia.io/web"}]}}`
	if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
		t.Errorf("error %v, patch (-want +got):\n%s", err, diff)
	}
}

func TestOfAPodWithoutOurGateTheCacheKeepsOnlyItsName(t *testing.T) {
	full := podWith("example.com/mesh", "Ready=True")
	full.Labels, full.ResourceVersion = map[string]string{"app": "web"}, "7"
	full.Spec.Containers = []corev1.Container{{Name: "web"}}
	Slim(full)
	want := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: "uid", ResourceVersion: "7"}}
	if diff := cmp.Diff(want, full); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	gated := podWith("kube-octavia.io/web", "Ready=True")
	want = gated.DeepCopy()
	gated.Spec.NodeName, gated.Status.PodIP, gated.Status.Conditions[0].Message = "node-1", "10.0.0.1", "long"
	Slim(gated)
	if diff := cmp.Diff(want, gated); diff != "" {
		t.Errorf("with our gate (-want +got):\n%s", diff)
	}
}
