// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia"
	"github.com/kube-octavia/kube-octavia/test/deploy"
	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
	"github.com/kube-octavia/kube-octavia/test/kube/kubeversion"
)

// renoted are the Services of TestUpgradeAndDowngradeWriteNothing whose note (annotation programmed) each program writes anew,
// because the two compute other digests. Each is a promise that is broken once: docs/how-to.md names them. Empty it when
// previous.txt is raised.
var renoted = []string{
	// The digest of a Service of both families did not have the members of the second, and if it required both there was none.
	"both-preferred", "both-required",
}

// TestUpgradeAndDowngradeWriteNothing lets the program of the previous release serve Services of all kinds, then this one, and
// then the previous one again: what one has left is what the other would have made.
func TestUpgradeAndDowngradeWriteNothing(t *testing.T) {
	simulatorOnly(t, "the cloud has no part in it")
	kubetest.NeedsVersion(t, kubeversion.HasIPMode, "field ipMode, without which the previous release writes statuses in each pass")
	previous, current := buildPrevious(t), build(t)
	// A load balancer that was changed minutes before it is read in full is read once more, and its note says that until then. Here
	// all were changed an hour ago.
	anHourAgo := octavia.Options{Now: func() time.Time { return time.Now().Add(-time.Hour) }}
	s := newStage(t, settings{off: true, password: true, conf: []string{manageGroups}, flags: sweeping, cloud: cloudsim.Options{Octavia: anHourAgo}})
	s.withoutGroups()
	s.gainIPv6("a")
	s.deleteLease()

	p := s.leads(previous)
	answering := s.serveAllKinds()
	s.waitUntilQuiet()
	p.terminate()

	for _, next := range []struct{ name, program string }{
		{"the upgrade", current}, {"the downgrade", previous}, {"the second upgrade", current},
	} {
		before, asked := s.published(), len(s.asked())
		s.resetCalls()
		p := s.leads(next.program)
		p.waitForPasses(len(before))
		s.waitForSweeps(3)
		p.waitForPasses(len(before)) // those that sweeps request
		for port, address := range answering {
			s.answers(address, port)
		}
		p.terminate()

		if writes := s.writes(); len(writes) > 0 {
			t.Errorf("%s wrote to the cloud:\n%s", next.name, strings.Join(writes, "\n"))
		}
		want := []string{}
		for _, name := range renoted {
			want = append(want, "patch services "+s.namespace+"/"+name)
		}
		if diff := cmp.Diff(want, s.writtenSince(asked)); diff != "" {
			t.Errorf("what %s wrote to Kubernetes (-want +got):\n%s", next.name, diff)
		}
		if diff := cmp.Diff(before, s.published()); diff != "" {
			t.Errorf("%s changed Services (-before +after):\n%s", next.name, diff)
		}
	}
}

// serveAllKinds creates Services of all kinds and waits until each has what it requests, or is refused. It returns the addresses of
// some of them by their port.
func (s *stage) serveAllKinds() (answering map[int]string) {
	s.t.Helper()
	given := s.cloud.makeFloatingIP("")
	s.renew(24 * time.Hour)
	s.mayRead("web-tls")
	var served []*service
	serve := func(name string, edits ...edit) *service {
		v := s.service(name, edits...)
		served = append(served, v)
		return v
	}
	plain := serve("plain", tcp(8080, 8081))
	serve("udp", udp(5300), sticky(90))
	local := serve("local", tcp(8082), local, annotated(monitorKey, "true"))
	serve("tuned", tcp(8083), annotated(limitKey, "1000"), annotated(prefix+"timeout-client-data", "600000"), annotated(methodKey, "LEAST_CONNECTIONS"))
	serve("internal", tcp(8084), annotated(internalKey, "true"))
	serve("ranges", tcp(8085), openTo("127.0.0.0/8", "192.0.2.0/24"))
	serve("proxy", tcp(9000), annotated(proxyKey, "true"))
	serve("tls", tcp(9001), annotated(secretKey, "web-tls"))
	serve("both-required", tcp(9002), stack(requiresBoth))
	serve("both-preferred", tcp(9003), udp(5301), stack(prefersBoth))
	kept := serve("kept", tcp(9004), annotated(keepKey, "true"))
	serve("given", tcp(9005), annotated(floatingIPKey, given.ID))
	serve("metrics", tcp(9006), annotated(metricsKey, fmt.Sprint(freePort(9100))), annotated(metricsSourcesKey, "127.0.0.0/8"))
	serve("group-a", tcp(9007), grouped("shop"))
	serve("group-b", tcp(9008), grouped("shop"))
	faulty := serve("refused-later", tcp(9009))
	drifting := serve("drifting", tcp(9090, 9091), annotated(driftKey, "report"))
	for _, v := range served {
		v.waitForCondition(programmed, conditionTrue, "Programmed")
	}
	serve("sharer", tcp(9101), annotated(idKey, plain.tree().ID)).waitForCondition(programmed, conditionTrue, "Programmed")
	s.given = append(s.given, given.Address, kept.address())

	s.service("refused", tcp(8080), annotated(monitorKey, "maybe")).waitForCondition(accepted, conditionFalse, "InvalidAnnotation")
	s.service("clash", tcp(9101), annotated(idKey, plain.tree().ID)).waitForCondition(accepted, conditionFalse, "SharingRefused")
	faulty.change(openTo("192.0.2.0/24"), annotated(limitKey, "few"))
	faulty.waitForCondition(accepted, conditionFalse, "InvalidAnnotation")
	drifted := drifting.tree()
	s.waitForNextSecond(drifted)
	s.cloud.octavia("DELETE", "listeners/"+drifted.listener("TCP/9091").ID, nil, nil)
	drifting.waitForCondition(programmed, conditionFalse, "Drifted")
	return map[int]string{8080: plain.address(), 8081: plain.address(), 8082: local.address(), 9004: kept.address(), 9005: given.Address, 9009: faulty.address()}
}

// leading is a controller that is a process of its own, and holds the Lease.
type leading struct {
	*process
	stage   *stage
	metrics string
}

// leads starts the program as the Deployment does, and waits until it works.
func (s *stage) leads(program string) leading {
	s.t.Helper()
	l := leading{stage: s, metrics: freeAddress(s.t)}
	l.process = s.launch(program, append([]string{"--leader-elect-resource-namespace=" + deploy.Namespace, "--health-probe-bind-address=0",
		"--metrics-bind-address=" + l.metrics, "--leader-elect-retry-period=500ms", "--leader-elect-renew-deadline=5s"}, s.settings.flags...)...)
	s.eventually(func() error {
		if len(l.log.lines("Starting workers")) == 0 {
			return fmt.Errorf("the controller does not work yet:\n%s", l.log)
		}
		return nil
	})
	return l
}

// waitForPasses waits until the controller has made so many passes, and has nothing in hand.
func (l leading) waitForPasses(n int) {
	l.t.Helper()
	l.stage.eventually(func() error {
		body, err := fetch("http://" + l.metrics + "/metrics")
		if err != nil {
			return err
		}
		made, open := sum(body, "controller_runtime_reconcile_total"), sum(body, "controller_runtime_active_workers")+sum(body, "workqueue_depth")
		if made < n || open > 0 || len(l.log.lines("what the project has")) == 0 {
			return fmt.Errorf("%d of %d passes were made, and %d are under way", made, n, open)
		}
		return nil
	})
}

// sum returns the sum of all values of a metric in the text form of Prometheus.
func sum(metrics, name string) int {
	total := 0.0
	for line := range strings.Lines(metrics) {
		if rest, found := strings.CutPrefix(line, name); found && strings.IndexAny(rest, "{ ") == 0 {
			value, err := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndex(line, " "):]), 64)
			if err == nil {
				total += value
			}
		}
	}
	return int(total)
}

// waitUntilQuiet waits until sweeps find nothing to write any more.
func (s *stage) waitUntilQuiet() {
	s.t.Helper()
	s.eventually(func() error {
		asked := len(s.asked())
		s.resetCalls()
		s.waitForSweeps(3)
		if all := slices.Concat(s.writes(), s.writtenSince(asked)); len(all) > 0 {
			return fmt.Errorf("the controller still writes:\n%s", strings.Join(all, "\n"))
		}
		return nil
	})
}

// writtenSince returns what controllers wrote to Kubernetes after so many requests, each as "VERB RESOURCE
// NAMESPACE/NAME", sorted. Not among it are events, the Lease, and the ConfigMap with the settings of the controller.
func (s *stage) writtenSince(asked int) []string {
	s.t.Helper()
	written := []string{}
	for _, r := range s.asked()[asked:] {
		resource := r.Resource
		if r.Subresource != "" {
			resource += "/" + r.Subresource
		}
		own := r.Namespace == deploy.Namespace && slices.Contains([]string{"leases", "configmaps"}, resource)
		if !own && resource != "events" && !slices.Contains([]string{"get", "list", "watch"}, r.Verb) {
			written = append(written, fmt.Sprintf("%s %s %s/%s", r.Verb, resource, r.Namespace, r.Name))
		}
	}
	slices.Sort(written)
	return written
}

// published returns what the controller says on a Service.
type published struct {
	Annotations map[string]string
	Finalizers  []string
	Status      corev1.ServiceStatus
}

// published returns what the controller says on the Services of the stage, by name. The notes of Services that are renoted are left out.
func (s *stage) published() map[string]published {
	s.t.Helper()
	list, err := s.client.CoreV1().Services(s.namespace).List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	all := map[string]published{}
	for _, v := range list.Items {
		if slices.Contains(renoted, v.Name) {
			delete(v.Annotations, programmedKey)
		}
		all[v.Name] = published{v.Annotations, v.Finalizers, v.Status}
	}
	return all
}
