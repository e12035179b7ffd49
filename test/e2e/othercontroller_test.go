// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/kube-octavia/kube-octavia/internal/operate/othercontroller"
	"github.com/kube-octavia/kube-octavia/test/deploy"
)

// otherController is the reason of the event and the message of the log about another controller.
const (
	otherController     = "OtherController"
	otherControllerGone = "OtherControllerGone"
	saysOther           = "another controller serves the same Services"
)

// runOCCM creates a Lease that was just renewed and a Deployment of openstack-cloud-controller-manager with the
// arguments, in another namespace than kube-system, until the test ends.
func (s *stage) runOCCM(args ...string) (end func()) {
	s.t.Helper()
	release := s.renewLease("kube-system", "cloud-controller-manager", nil)
	deployments := s.client.AppsV1().Deployments(s.namespace)
	labels := map[string]string{"app": occm}
	d, err := deployments.Create(s.t.Context(), &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: occm}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: occm, Image: "registry.example.com/" + occm, Args: append([]string{"/bin/" + occm}, args...)}}}},
	}}, metav1.CreateOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	d.Status = appsv1.DeploymentStatus{Replicas: 1, ReadyReplicas: 1}
	if _, err := deployments.UpdateStatus(s.t.Context(), d, metav1.UpdateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	end = sync.OnceFunc(func() {
		_ = deployments.Delete(context.Background(), occm, metav1.DeleteOptions{})
		release()
	})
	s.afterwards = append(s.afterwards, end)
	return end
}

// renewLease creates a Lease whose holder works, until the test ends.
func (s *stage) renewLease(namespace, name string, labels map[string]string) (end func()) {
	s.t.Helper()
	leases := s.client.CoordinationV1().Leases(namespace)
	_, err := leases.Create(s.t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: ptr.To("master-1"), LeaseDurationSeconds: ptr.To[int32](3600), RenewTime: &metav1.MicroTime{Time: time.Now()}}}, metav1.CreateOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	end = sync.OnceFunc(func() { _ = leases.Delete(context.Background(), name, metav1.DeleteOptions{}) })
	s.afterwards = append(s.afterwards, end)
	return end
}

// otherEvents returns the texts of the events of the reason about the cluster that mention the
// text.
func (s *stage) otherEvents(reason, text string) (notes []string) {
	s.t.Helper()
	list, err := s.client.EventsV1().Events(metav1.NamespaceDefault).List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range list.Items {
		if e.Reason == reason && e.Regarding.Kind == "Namespace" && e.Regarding.Name == "kube-system" && string(e.Regarding.UID) == s.clusterUID() && strings.Contains(e.Note, text) {
			notes = append(notes, e.Note)
		}
	}
	return notes
}

// others returns the value of the metric for a kind of other controllers; -1 if there is none.
func (s *stage) others(kind othercontroller.Kind) int {
	s.t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.Metric {
			if f.GetName() == "kube_octavia_other_controllers" && m.Label[0].GetValue() == string(kind) {
				return int(m.GetGauge().GetValue())
			}
		}
	}
	return -1
}

func TestAnotherControllerIsReportedBeforeAnythingIsWritten(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{off: true})
	s.runOCCM("--cloud-provider=openstack")
	web := s.service("web", tcp(8080))
	s.start()
	web.waitUntilProgrammed()
	who := "openstack-cloud-controller-manager (Deployment " + s.namespace + "/openstack-cloud-controller-manager)"
	if notes := s.otherEvents(otherController, who); len(notes) != 1 || !strings.Contains(notes[0], "its leader master-1 renewed Lease kube-system/cloud-controller-manager") ||
		!strings.Contains(notes[0], "--controllers=*,-service") {
		t.Errorf("the events are %q", notes)
	}
	if n := s.others(othercontroller.OCCM); n != 1 {
		t.Errorf("the metric is %d", n)
	}
	// A request may be recorded a moment after its answer.
	s.eventually(func() error {
		var writes []string
		for _, r := range s.asked()[s.askedBefore:] {
			if r.Verb == "create" || r.Verb == "patch" || r.Verb == "update" {
				writes = append(writes, r.Verb+" "+r.Resource+" "+r.Namespace)
			}
		}
		if len(writes) < 3 {
			return fmt.Errorf("only the writes %v were recorded", writes)
		}
		if writes[0] != "create events default" {
			t.Errorf("the first writes to Kubernetes are %v", writes[:3])
		}
		return nil
	})
	lines := strings.Split(s.controller.log.String(), "\n")
	told := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, saysOther) && strings.Contains(l, who) })
	wrote := slices.IndexFunc(lines, func(l string) bool {
		return strings.Contains(l, `"OpenStack call"`) && strings.Contains(l, `"method":"POST"`) && strings.Contains(l, `"route":"/v2.0/`)
	})
	if told < 0 || wrote < 0 || told > wrote {
		t.Errorf("told in line %d of the log, and wrote to the cloud in line %d", told, wrote)
	}
}

func TestAnotherControllerIsReportedAsLongAsItServesServices(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{off: true, flags: []string{observing, "--sweep-interval=1s"}})
	s.runOCCM()
	web := s.service("web", tcp(8080))
	s.start()
	c := web.waitForCondition(programmed, metav1.ConditionUnknown, changes)
	if !strings.Contains(c.Message, "now it is served by openstack-cloud-controller-manager (Deployment "+s.namespace) {
		t.Errorf("the condition says: %s", c.Message)
	}
	s.switchOCCMOff()
	s.eventually(func() error {
		if n, gone := s.others(othercontroller.OCCM), s.otherEvents(otherControllerGone, s.namespace); n != 0 || len(gone) != 1 {
			return fmt.Errorf("the metric is %d, and the events are %q", n, gone)
		}
		return nil
	})
	if n := s.others(othercontroller.CloudControllerManager); n != 0 {
		t.Errorf("its Lease is still counted, %d", n)
	}
	web.change(annotated("example.com/touched", "1"))
	s.eventually(func() error {
		if c := web.waitForCondition(programmed, metav1.ConditionUnknown, changes); strings.Contains(c.Message, "served by") {
			return fmt.Errorf("the condition says: %s", c.Message)
		}
		return nil
	})
}

// switchOCCMOff switches the service controller of openstack-cloud-controller-manager off.
func (s *stage) switchOCCMOff() {
	s.t.Helper()
	deployments := s.client.AppsV1().Deployments(s.namespace)
	d, err := deployments.Get(s.t.Context(), occm, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	d.Spec.Template.Spec.Containers[0].Args = []string{"/bin/" + occm, "--controllers=*,-service"}
	if _, err := deployments.Update(s.t.Context(), d, metav1.UpdateOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// The way of docs/migrate-from-occm.md: observe beside it, switch it off, take over. A node joins in between.
func TestOneStepSwitchesFromTheOtherControllerAndPoolsFollowTheNodes(t *testing.T) {
	skipOnRealOpenStack(t, "for the cloud it is a takeover like others")
	s := newStage(t, settings{off: true, flags: []string{observing, "--sweep-interval=1s"}})
	all := s.inherits(t, rowsOf("tcp"))
	s.runOCCM()
	s.resetCalls()
	s.start()
	all[0].waitForMessage(metav1.ConditionUnknown, readyForAdoption, "now it is served by openstack-cloud-controller-manager")
	s.waitForSweeps(2)
	s.requireUntouched()
	all[0].untaken()
	s.stop()
	s.switchOCCMOff()
	s.addNode("c")
	s.settings.flags = []string{"--sweep-interval=1s"}
	s.start()
	all[0].waitUntilProgrammed()
	all[0].waitForTree(membersAt(s.addresses("a", "b", "c")...))
	if n, lines := s.others(othercontroller.OCCM), s.controller.log.lines(saysOther); n != 0 || len(s.controller.log.lines(`"kind":"openstack-cloud-controller-manager"`)) > 0 {
		t.Errorf("the metric is %d, the log says %q", n, lines)
	}
}

func TestControllersOfOtherServicesAreNotReported(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	for name, test := range map[string]struct{ flag, occm string }{
		"OCCM without its service controller": {"", "--controllers=*,-service"},
		"OCCM for Services without a class":   {"--handle-default-class=false", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, settings{off: true, flags: []string{"--sweep-interval=1s"}})
			if test.flag != "" {
				s.settings.flags = append(s.settings.flags, test.flag)
			}
			s.runOCCM(test.occm)
			s.start()
			s.eventually(func() error {
				if len(s.controller.log.lines("looked for other controllers")) == 0 {
					return fmt.Errorf("it has not looked yet")
				}
				return nil
			})
			if n, lines := s.others(othercontroller.OCCM), s.controller.log.lines(saysOther); n != 0 || len(lines) > 0 {
				t.Errorf("the metric is %d, the log says %q", n, lines)
			}
		})
	}
}

func TestAnotherInstanceOfTheSameClassIsReported(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{off: true})
	s.renewLease(s.namespace, "other", map[string]string{othercontroller.ClassLabel: "kube-octavia.io.octavia", othercontroller.DefaultLabel: "false"})
	s.start()
	who := "another kube-octavia (Lease " + s.namespace + "/other) handles spec.loadBalancerClass kube-octavia.io/octavia too"
	s.eventually(func() error {
		if n, notes := s.others(othercontroller.Instance), s.otherEvents(otherController, who); n != 1 || len(notes) != 1 {
			return fmt.Errorf("the metric is %d, and the events are %q", n, notes)
		}
		return nil
	})
}

func TestAnotherWriterOfAddressesIsReported(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{off: true})
	web := s.service("web", tcp(8080))
	now := web.now()
	now.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: elsewhere}}
	if _, err := s.client.CoreV1().Services(s.namespace).UpdateStatus(t.Context(), now, metav1.UpdateOptions{FieldManager: occm}); err != nil {
		t.Fatal(err)
	}
	s.start()
	web.waitUntilProgrammed()
	if n, lines := s.others(othercontroller.Writer), s.controller.log.lines("field manager "+occm+" wrote the address of Service "+s.namespace+"/web"); n != 1 || len(lines) != 1 {
		t.Errorf("the metric is %d, the log says %q", n, lines)
	}
}

func TestALeaderLabelsItsLeaseWithItsClass(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	program := build(t)
	s := newStage(t, settings{off: true})
	s.deleteLease()
	p := s.launch(program, "--leader-elect-resource-namespace="+deploy.Namespace, "--metrics-bind-address=0", "--health-probe-bind-address=0")
	s.eventually(func() error {
		lease, err := s.client.CoordinationV1().Leases(deploy.Namespace).Get(t.Context(), deploy.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if lease.Labels[othercontroller.ClassLabel] != "kube-octavia.io.octavia" || lease.Labels[othercontroller.DefaultLabel] != "true" {
			return fmt.Errorf("its labels are %v", lease.Labels)
		}
		return nil
	})
	p.terminate()
}

// withdrawRights takes the controller's rights to a group away until the test ends.
func (s *stage) withdrawRights(group string) {
	s.t.Helper()
	roles := s.client.RbacV1().ClusterRoles()
	role, err := roles.Get(s.t.Context(), deploy.Name, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	all := role.Rules
	role.Rules = slices.DeleteFunc(slices.Clone(all), func(r rbacv1.PolicyRule) bool { return slices.Contains(r.APIGroups, group) })
	if len(all) == len(role.Rules) {
		s.t.Fatalf("the controller has no rights to group %s", group)
	}
	await := func(allowed bool) {
		s.eventually(func() error {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: deploy.User,
				ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "list", Group: group, Resource: "deployments", Name: occm}}}
			answer, err := s.client.AuthorizationV1().SubjectAccessReviews().Create(context.Background(), review, metav1.CreateOptions{})
			if err == nil && answer.Status.Allowed != allowed {
				err = fmt.Errorf("the right is there: %v", !allowed)
			}
			return err
		})
	}
	if role, err = roles.Update(s.t.Context(), role, metav1.UpdateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	s.withdrawn = group
	s.afterwards = append(s.afterwards, func() {
		role.Rules = all
		if _, err := roles.Update(context.Background(), role, metav1.UpdateOptions{}); err != nil {
			s.t.Error(err)
		}
		await(true)
	})
	await(false)
}

func TestAControllerWithoutTheRightsToFindOthersReportsItOnceAndServes(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{off: true, flags: []string{"--sweep-interval=1s"}})
	s.withdrawRights("apps")
	s.runOCCM()
	s.start()
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	s.eventually(func() error { // the Lease alone shows that something works
		if n := s.others(othercontroller.CloudControllerManager); n != 1 {
			return fmt.Errorf("the metric is %d", n)
		}
		return nil
	})
	if lines := s.controller.log.lines("cannot look for other controllers"); len(lines) != 1 || !strings.Contains(lines[0], "deploy/clusterrole.yaml") {
		t.Errorf("the log says %q", lines)
	}
}
