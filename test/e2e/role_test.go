// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/test/deploy"
	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
	"github.com/kube-octavia/kube-octavia/test/kube/kubeversion"
)

// TestRolesAllowExactlyWhatIsUsed lets the controller do all that it does, as the ServiceAccount of
// deploy/, and compares the audit log of kube-apiserver with the roles: what was requested is
// allowed, and what is allowed was requested.
func TestRolesAllowExactlyWhatIsUsed(t *testing.T) {
	simulatorOnly(t, "the cloud has no part in it, and the subnet of the ClusterIPs is made for the test")
	program := build(t)
	s := newStage(t, settings{off: true})
	s.atClusterIPs(s.serviceSubnet(nil), "selector = at=clusterip", "namespaces = "+s.namespace)
	granted, err := deploy.Granted(t.Context(), s.client)
	if err != nil {
		t.Fatal(err)
	}
	s.deleteLease()
	flags := []string{"--leader-elect-resource-namespace=" + deploy.Namespace, "--metrics-bind-address=0", "--health-probe-bind-address=0", "--sweep-interval=1s"}

	// Where kube-apiserver cannot stream lists, they are requested.
	listing := s.command(program, flags...)
	listing.Env = append(os.Environ(), "KUBE_FEATURE_WatchListClient=false")
	first := s.execute(listing)
	s.runLifecycle("web")
	first.terminate()
	second := s.launch(program, flags...)
	s.runLifecycle("web")
	inside := s.service("inside", tcp(8080), toClusterIP, func(v *corev1.Service) { metav1.SetMetaDataLabel(&v.ObjectMeta, "at", "clusterip") })
	inside.waitForCondition(programmed, conditionTrue, "Programmed")
	inside.delete()
	inside.waitUntilGone()
	second.terminate()

	s.eventually(func() error {
		unused, lacking := deploy.Compare(granted, s.asked()[s.askedBefore:])
		if kubetest.MinorVersion(t) < kubeversion.HasServiceCIDR {
			unused = slices.DeleteFunc(unused, func(p deploy.Permission) bool { return p.Resource == "servicecidrs" })
		}
		if len(unused)+len(lacking) > 0 {
			return fmt.Errorf("the roles in deploy/ allow what is not used, %v, and lack what is, %v", unused, lacking)
		}
		return nil
	})
}

// runLifecycle takes a Service through its life: it is made, changed, refused, changes its
// type, and is deleted.
func (s *stage) runLifecycle(name string) {
	s.t.Helper()
	web := s.service(name, tcp(8080))
	web.waitUntilProgrammed()
	web.change(tcp(8081), local)
	web.waitForTree(ports("TCP/8080", "TCP/8081"))
	web.waitUntilProgrammed()
	web.change(annotated(internalKey, "perhaps"))
	web.waitForCondition(accepted, conditionFalse, "InvalidAnnotation")
	web.change(notAnnotated(internalKey))
	web.waitUntilProgrammed()
	s.eventually(func() error {
		if told := web.events(); !slices.Contains(told, "InvalidAnnotation") {
			return fmt.Errorf("the events are %v", told)
		}
		return nil
	})
	web.change(ofType(corev1.ServiceTypeClusterIP))
	web.waitUntilUnmarked()
	web.change(ofType(corev1.ServiceTypeLoadBalancer))
	web.waitUntilProgrammed()
	web.delete()
	web.waitUntilGone()
}

// TestDeploymentRunsTheController starts the program with the very arguments of the Deployment and, as docs/install.md
// does, with --adopt=tag, and asks its probes.
func TestDeploymentRunsTheController(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	program := build(t)
	s := newStage(t, settings{off: true})
	d, err := s.client.AppsV1().Deployments(deploy.Namespace).Get(t.Context(), deploy.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c := d.Spec.Template.Spec.Containers[0]
	// What a Pod has to itself is elsewhere here.
	health, metrics := freeAddress(t), freeAddress(t)
	elsewhere := strings.NewReplacer(
		"="+c.VolumeMounts[0].MountPath+"/cloud.conf", "="+s.cloudConf(),
		fmt.Sprintf("=:%d", containerPort(c, c.LivenessProbe.HTTPGet.Port.StrVal)), "="+health,
		fmt.Sprintf("=:%d", containerPort(c, "metrics")), "="+metrics)
	args := []string{}
	for _, arg := range c.Args {
		args = append(args, elsewhere.Replace(arg))
	}
	if all := strings.Join(args, " "); !strings.Contains(all, health) || !strings.Contains(all, metrics) || !strings.Contains(all, s.cloudConf()) {
		t.Fatalf("the Deployment's ports and files are not those of its arguments: %v", c.Args)
	}
	p := s.execute(exec.Command(program, append(args, "--adopt=tag", "--kubeconfig="+s.kubeconfig(), "--leader-elect-resource-namespace="+deploy.Namespace)...))
	for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe} {
		s.eventually(func() error {
			_, err := fetch("http://" + health + probe.HTTPGet.Path)
			return err
		})
	}
	if _, err := fetch("http://" + metrics + "/metrics"); err != nil {
		t.Error(err)
	}
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	web.delete()
	web.waitUntilGone()
	p.terminate()
}

// containerPort returns the number of the container's port of the name.
func containerPort(c corev1.Container, name string) int32 {
	for _, p := range c.Ports {
		if p.Name == name {
			return p.ContainerPort
		}
	}
	return 0
}
