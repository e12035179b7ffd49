// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package readiness_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kube-octavia/kube-octavia/internal/controller"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/readiness"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/service"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
	"github.com/kube-octavia/kube-octavia/test/deploy"
	"github.com/kube-octavia/kube-octavia/test/kube"
	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
)

func TestMain(m *testing.M) {
	kubetest.MainWith(m, kube.Options{Audited: []string{deploy.User}}, kubetest.IgnoreStoppedQueue())
}

// manifests are the directories with the roles of the controller.
const manifests, gateManifests = "../../../deploy", "../../../deploy/readiness-gates"

// identity is the configuration of the controller's ServiceAccount, with its roles and no more.
var identity struct {
	once   sync.Once
	config *rest.Config
	err    error
}

// asController returns that configuration. The first call installs the manifests.
func asController(t *testing.T) *rest.Config {
	t.Helper()
	cluster := kubetest.Cluster(t)
	identity.once.Do(func() {
		ctx := context.Background() // it is for all tests
		identity.err = errors.Join(deploy.Install(ctx, cluster, manifests), deploy.InstallGates(ctx, cluster, gateManifests))
		var token string
		if identity.err == nil {
			token, identity.err = deploy.Token(ctx, cluster)
		}
		identity.config = rest.AnonymousClientConfig(cluster.Config())
		identity.config.BearerToken = token
	})
	if identity.err != nil {
		t.Fatal(identity.err)
	}
	return identity.config
}

// stage is a namespace with the readiness gates of a controller that serves Services without a class.
type stage struct {
	*testing.T
	*kubernetes.Clientset
	namespace string
	gates     *readiness.Gates
	enqueued  chan owner.Key
	// later is how far the clock is ahead.
	later atomic.Int64
}

// newStage returns a stage whose namespace has opted in, if it should.
func newStage(t *testing.T, optedIn bool) *stage {
	t.Helper()
	s := &stage{T: t, Clientset: kubetest.Client(t), namespace: kubetest.Namespace(t), enqueued: make(chan owner.Key, 100)}
	if optedIn {
		s.optIn()
	}
	m, err := ctrl.NewManager(asController(t), manager.Options{
		Logger: logr.Discard(), Metrics: metricsserver.Options{BindAddress: "0"}, Cache: controller.CacheOptions(config.ClusterIP{}),
		Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.gates, err = readiness.SetUp(m, readiness.Options{
		Client: m.GetClient(), Uncached: m.GetAPIReader(), Recorder: m.GetEventRecorder("kube-octavia"),
		Services: services,
		Enqueue:  func(key owner.Key) { s.enqueued <- key },
		Timing:   timing.Default(), Now: func() time.Time { return time.Now().Add(time.Duration(s.later.Load())) },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- m.Start(ctx) }()
	t.Cleanup(func() {
		if stop(); <-stopped != nil {
			t.Error("the manager failed")
		}
	})
	return s
}

func (s *stage) optIn() {
	s.Helper()
	label := fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, readiness.NamespaceLabel, readiness.Enabled)
	if _, err := s.CoreV1().Namespaces().Patch(s.Context(), s.namespace, types.MergePatchType, []byte(label), metav1.PatchOptions{}); err != nil {
		s.Fatal(err)
	}
}

// service creates a Service of type LoadBalancer whose members are Pods.
func (s *stage) service(name string, edits ...func(*corev1.Service)) *corev1.Service {
	s.Helper()
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{annotation.TargetType: config.PodTargets}},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	for _, edit := range edits {
		edit(service)
	}
	made, err := s.CoreV1().Services(s.namespace).Create(s.Context(), service, metav1.CreateOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return made
}

// pod creates a Pod with a gate for each Service, whose containers are ready.
func (s *stage) pod(name, address string, services ...string) {
	s.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}}}
	for _, service := range services {
		pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: readiness.Gate(service)})
	}
	if _, err := s.CoreV1().Pods(s.namespace).Create(s.Context(), pod, metav1.CreateOptions{}); err != nil {
		s.Fatal(err)
	}
	s.patch(name, fmt.Sprintf(`{"status":{"podIP":%[1]q,"podIPs":[{"ip":%[1]q}],"conditions":[{"type":"ContainersReady","status":"True","lastTransitionTime":%[2]q},
		{"type":"Ready","status":"False","reason":"ReadinessGatesNotReady"}]}}`, address, time.Now().UTC().Format(time.RFC3339)))
}

func (s *stage) patch(pod, patch string) {
	s.Helper()
	_, err := s.CoreV1().Pods(s.namespace).Patch(s.Context(), pod, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	if err != nil {
		s.Fatal(err)
	}
}

// conditions returns status and reason of the Pod's gates.
func (s *stage) conditions(pod string) map[string]string {
	s.Helper()
	now, err := s.CoreV1().Pods(s.namespace).Get(s.Context(), pod, metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	all := map[string]string{}
	for _, c := range now.Status.Conditions {
		if gate, ours := strings.CutPrefix(string(c.Type), readiness.Prefix); ours {
			all[gate] = fmt.Sprint(c.Status, " ", c.Reason)
		}
	}
	return all
}

func (s *stage) eventually(what string, is func() bool) {
	s.Helper()
	err := wait.PollUntilContextTimeout(s.Context(), 20*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return is(), nil })
	if err != nil {
		s.Fatalf("wait until %s: %v", what, err)
	}
}

// awaitGates waits until the Pod has these conditions of gates.
func (s *stage) awaitGates(pod string, want map[string]string) {
	s.Helper()
	s.eventually(fmt.Sprintf("the gates of %s are %v", pod, want), func() bool { return cmp.Equal(want, s.conditions(pod)) })
}

// nextPass waits until a pass over a Service of the namespace is requested, and returns its name. Pods of earlier tests
// may wait for theirs.
func (s *stage) nextPass() string {
	s.Helper()
	for limit := time.After(time.Minute); ; {
		select {
		case key := <-s.enqueued:
			if key.Namespace == s.namespace {
				return key.Name
			}
		case <-limit:
			s.Fatal("no pass was requested")
		}
	}
}

// awaitPass waits until a pass over the Service was requested.
func (s *stage) awaitPass(service string) {
	s.Helper()
	for s.nextPass() != service {
	}
}

func TestAGateIsSetWhenTheMemberTakesTraffic(t *testing.T) {
	s := newStage(t, true)
	web := s.service("web")
	s.pod("web-1", "10.0.0.1", "web")
	s.pod("web-2", "10.0.0.2", "web")
	s.awaitPass("web")
	gated := map[string][]netip.Addr{"web-1": {netip.MustParseAddr("10.0.0.1")}, "web-2": {netip.MustParseAddr("10.0.0.2")}}
	equal := func(want, got desired.Gates) bool {
		return cmp.Equal(want, got, cmpopts.EquateComparable(netip.Addr{}))
	}
	s.eventually("both Pods are gated", func() bool {
		got, err := s.gates.Gated(t.Context(), services.Of(web))
		return err == nil && equal(desired.Gates{Gated: gated, Waiting: map[string]bool{"web-1": true, "web-2": true}}, got)
	})
	taking := map[decide.PodMember]bool{{Pod: "web-1", Address: "10.0.0.1"}: true, {Pod: "web-2", Address: "10.0.0.2"}: false}
	if err := s.gates.Report(t.Context(), services.Of(web), taking); err != nil {
		t.Fatal(err)
	}
	s.awaitGates("web-1", map[string]string{"web": "True TakesTraffic"})
	s.awaitGates("web-2", map[string]string{})
	s.eventually("the cache shows the gate", func() bool {
		got, err := s.gates.Gated(t.Context(), services.Of(web))
		return err == nil && equal(desired.Gates{Gated: gated, Waiting: map[string]bool{"web-2": true}}, got)
	})
	if now := len(s.conditions("web-1")); now != 1 {
		t.Errorf("%d conditions of gates", now)
	}
}

func TestAGateWithoutALoadBalancerOfPodsIsSet(t *testing.T) {
	s := newStage(t, true)
	s.service("nodes", func(s *corev1.Service) { s.Annotations = nil })
	s.service("cluster", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP })
	s.service("others-at-its-cluster-ip", func(s *corev1.Service) {
		s.Spec.Type, s.Finalizers, s.Annotations[annotation.Managed] = corev1.ServiceTypeClusterIP, []string{claim.Finalizer}, "uid example.com/other"
	})
	s.service("others", func(s *corev1.Service) { s.Spec.LoadBalancerClass = ptr.To("example.com/other") })
	s.service("web")
	s.pod("pod", "10.0.0.1", "nodes", "cluster", "missing", "others", "others-at-its-cluster-ip", "web")
	const gone = "True NotApplicable"
	s.awaitGates("pod", map[string]string{"nodes": gone, "cluster": gone, "missing": gone})
	s.awaitPass("web")

	s.later.Store(int64(10 * time.Minute))
	s.patch("pod", `{"status":{"message":"an event"}}`)
	s.awaitGates("pod", map[string]string{"nodes": gone, "cluster": gone, "missing": gone,
		"others": "True TimedOut", "others-at-its-cluster-ip": "True TimedOut", "web": "True TimedOut"})
	s.eventually("there is a warning", func() bool {
		events, err := s.EventsV1().Events(s.namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events.Items {
			if e.Reason == "ReadinessGateTimedOut" && e.Type == corev1.EventTypeWarning && e.Regarding.Name == "pod" {
				return true
			}
		}
		return false
	})
}

// Nothing else may show that its member has to go: the pass that followed the EndpointSlice may have come too early.
func TestAPassFollowsWhenAPodWhoseGateIsSetFails(t *testing.T) {
	s := newStage(t, true)
	s.pod("pod", "10.0.0.1", "others", "web")
	s.awaitGates("pod", map[string]string{"others": "True NotApplicable", "web": "True NotApplicable"})
	s.patch("pod", `{"status":{"conditions":[{"type":"Ready","status":"True","reason":""}]}}`)
	s.service("others", func(s *corev1.Service) { s.Spec.LoadBalancerClass = ptr.To("example.com/other") })
	s.service("web")
	s.eventually("the caches show the Services, and that the Pod is ready", func() bool {
		var pod corev1.Pod
		var services corev1.ServiceList
		here := client.InNamespace(s.namespace)
		err := errors.Join(s.gates.Client.List(t.Context(), &services, here), s.gates.Client.Get(t.Context(), types.NamespacedName{Namespace: s.namespace, Name: "pod"}, &pod))
		return err == nil && len(services.Items) == 2 && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
	})
	s.patch("pod", `{"status":{"conditions":[{"type":"Ready","status":"False","reason":"ContainersNotReady"}]}}`)
	if got := s.nextPass(); got != "web" {
		t.Errorf("a pass over %s", got)
	}
}

func TestGatesWaitUntilTheNamespaceOptsIn(t *testing.T) {
	s := newStage(t, false)
	web := s.service("web")
	s.pod("pod", "10.0.0.1", "web", "missing")
	other := newStage(t, true) // its Pod is newer
	other.pod("pod", "10.0.0.1", "missing")
	other.awaitGates("pod", map[string]string{"missing": "True NotApplicable"})
	if diff := cmp.Diff(map[string]string{}, s.conditions("pod")); diff != "" {
		t.Errorf("gates in a namespace that has not opted in:\n%s", diff)
	}
	if got, err := s.gates.Gated(t.Context(), services.Of(web)); len(got.Gated) > 0 || err != nil {
		t.Errorf("gated: %+v, %v", got, err)
	}
	s.optIn()
	s.awaitGates("pod", map[string]string{"missing": "True NotApplicable"})
	s.awaitPass("web")
}

// TestTheRolesAllowExactlyWhatIsUsed has each gate set once, and looks at all requests of this package so far.
func TestTheRolesAllowExactlyWhatIsUsed(t *testing.T) {
	s := newStage(t, true)
	s.pod("pod", "10.0.0.1", "missing")
	s.awaitGates("pod", map[string]string{"missing": "True NotApplicable"})
	granted, err := deploy.GatesGranted(t.Context(), s.Clientset)
	if err != nil {
		t.Fatal(err)
	}
	others, err := deploy.Granted(t.Context(), s.Clientset)
	if err != nil {
		t.Fatal(err)
	}
	var unused, lacking []deploy.Permission
	s.eventually("all rights are used", func() bool {
		requests, err := kubetest.Cluster(t).Requests()
		if err != nil {
			t.Fatal(err)
		}
		unused, _ = deploy.Compare(granted, requests)
		// Lists are asked for where kube-apiserver cannot stream them.
		unused = slices.DeleteFunc(unused, func(p deploy.Permission) bool { return p.Verb == "list" })
		_, lacking = deploy.Compare(append(others, granted...), requests)
		return len(unused) == 0
	})
	if len(lacking) > 0 {
		t.Errorf("the roles lack %v", lacking)
	}
}

// services adapts the Services of the tests.
var services = service.Kind{Policy: claim.Policy{DefaultClass: true}}
