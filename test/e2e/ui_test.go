// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/internal/command/cli"
	"github.com/kube-octavia/kube-octavia/internal/operate/topology"
	"github.com/kube-octavia/kube-octavia/test/deploy"
	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
)

// topologyPage is the server of the topology page.
type topologyPage struct {
	*stage
	url   string
	token string
	log   *log
	stop  func()
}

// serves starts `kube-octavia ui` with the kubeconfig and the cloud.conf, and stops it with the test.
func (s *stage) serves(kubeconfig string, flags ...string) *topologyPage {
	s.t.Helper()
	return s.servesWithoutConfig(kubeconfig, append([]string{"--cloud-config=" + s.cloudConf()}, flags...)...)
}

// servesWithoutConfig is like serves, but there is no cloud.conf.
func (s *stage) servesWithoutConfig(kubeconfig string, flags ...string) *topologyPage {
	s.t.Helper()
	p := &topologyPage{stage: s, log: &log{}}
	s.shows("the log of ui", p.log)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	p.stop = func() {
		stop()
		<-ended
	}
	args := append([]string{"ui", "--address=127.0.0.1:0", "--refresh-interval=1s", "--kubeconfig=" + kubeconfig}, flags...)
	go func() {
		defer close(ended)
		if status := cli.Run(ctx, args, cli.IO{Out: p.log, Err: p.log}, cli.Options{Version: "test"}); status != 0 {
			s.t.Errorf("ui ended with status %d:\n%s", status, p.log)
		}
	}()
	s.t.Cleanup(p.stop)
	s.eventually(func() error {
		if p.url = regexp.MustCompile(`http://\S+`).FindString(p.log.String()); p.url == "" {
			return fmt.Errorf("it is not served yet: %s", p.log)
		}
		return nil
	})
	return p
}

// waitUntilConnected waits until the page, which is served before that, has read the capabilities of the
// cloud.
func (p *topologyPage) waitUntilConnected() {
	p.t.Helper()
	p.eventually(func() error {
		if !strings.Contains(p.log.String(), "connected to OpenStack") {
			return fmt.Errorf("it is not connected yet: %s", p.log)
		}
		return nil
	})
}

// get requests a path, with the token of the page.
func (p *topologyPage) get(ctx context.Context, path string, edits ...func(*http.Request)) *http.Response {
	p.t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	if p.token != "" {
		request.Header.Set("Authorization", "Bearer "+p.token)
	}
	for _, edit := range edits {
		edit(request)
	}
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	return answer
}

// status returns the status of the answer, and its body.
func (p *topologyPage) status(path string, edits ...func(*http.Request)) (int, string) {
	p.t.Helper()
	answer := p.get(p.t.Context(), path, edits...)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// change is a message of the server.
type change struct {
	Whole    bool
	Topology topology.Topology
	Services []topology.Service
	Removed  []string
}

// topology returns what is shown now.
func (p *topologyPage) topology() change {
	p.t.Helper()
	status, body := p.status("topology")
	var c change
	if err := json.Unmarshal([]byte(body), &c); status != http.StatusOK || err != nil {
		p.t.Fatalf("status %d, %v: %s", status, err, body)
	}
	return c
}

// of returns how a Service is shown now.
func (p *topologyPage) of(v *service) (topology.Service, error) {
	p.t.Helper()
	shown := p.topology().Services
	i := slices.IndexFunc(shown, func(s topology.Service) bool { return s.Key == v.namespace+"/"+v.name })
	if i < 0 {
		return topology.Service{}, fmt.Errorf("Service %s is not shown among %d", v.name, len(shown))
	}
	return shown[i], nil
}

// waitUntilState waits until the Service is shown in the state, with the word in one of the reasons.
func (p *topologyPage) waitUntilState(v *service, is topology.State, word string) (s topology.Service) {
	p.t.Helper()
	p.eventually(func() (err error) {
		if s, err = p.of(v); err == nil && (s.State != is || !strings.Contains(strings.Join(s.Reasons, "\n"), word)) {
			err = fmt.Errorf("Service %s is shown as %s: %q", v.name, s.State, s.Reasons)
		}
		return err
	})
	return s
}

func TestTopologyShowsObjectsStatusAndDriftOfServices(t *testing.T) {
	simulatorOnly(t, "it damages the cloud")
	s := newStage(t, settings{podless: true, conf: []string{"create-monitor=true", "monitor-delay=1s", "monitor-timeout=1s"}})
	web := s.service("web", tcp(8080), func(v *corev1.Service) { v.Annotations = map[string]string{driftKey: "report"} })
	address := web.waitUntilProgrammed()
	have := web.tree()
	s.waitUntilIdle()
	p := s.serves(s.adminKubeconfig())
	s.resetCalls()

	p.waitUntilState(web, topology.Failed, "All 2 members") // no Pod answers
	s.runPod("a", "a")
	shown := p.waitUntilState(web, topology.OK, "")
	l := shown.LoadBalancer
	if l == nil || l.ID != have.ID || !l.MembersRead || l.Operating == "" || len(l.Listeners) != 1 || len(l.Pools) != 1 || l.Listeners[0].PoolID != l.Pools[0].ID ||
		len(l.Pools[0].Members) != 2 || l.Pools[0].Monitor == nil || l.FloatingIP != address {
		t.Fatalf("the load balancer: %+v", l)
	}
	if !slices.Equal(shown.Addresses, []string{address}) || !shown.Plan.Known || len(shown.Plan.Operations) > 0 || len(shown.Conditions) != 3 || len(shown.Events) == 0 {
		t.Errorf("the Service: %+v", shown)
	}

	s.requireUntouched()

	s.waitForNextSecond(have)
	s.cloud.octavia(http.MethodPut, "listeners/"+l.Listeners[0].ID, map[string]any{"listener": map[string]any{"connection_limit": 7}}, nil)
	shown = p.waitUntilState(web, topology.Warning, "Drift")
	if plan := shown.Plan; !plan.Drift || len(plan.Refused) == 0 || !strings.Contains(plan.Refused[0].Message, "limit") {
		t.Errorf("the plan: %+v", plan)
	}
}

func TestTopologyStreamSendsOnlyWhatChanges(t *testing.T) {
	simulatorOnly(t, "the cloud has no part in it")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	s.waitUntilIdle()
	p := s.serves(s.adminKubeconfig())
	// An event may come later than the condition that it repeats.
	p.eventually(func() error {
		shown, err := p.of(web)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(shown.Events, func(e topology.Event) bool { return e.Reason == "Programmed" }) {
			return fmt.Errorf("no event says that it is programmed: %+v", shown.Events)
		}
		return nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), deadline())
	defer cancel()
	stream := p.get(ctx, "topology/events")
	defer stream.Body.Close()
	if kind := stream.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Errorf("Content-Type %s", kind)
	}
	lines := bufio.NewScanner(stream.Body)
	lines.Buffer(nil, 1<<20)
	next := func() (c change) {
		t.Helper()
		for lines.Scan() {
			if data, is := strings.CutPrefix(lines.Text(), "data: "); is {
				if err := json.Unmarshal([]byte(data), &c); err != nil {
					t.Fatal(err)
				}
				return c
			}
		}
		t.Fatalf("the stream ended: %v", lines.Err())
		return c
	}
	first := next()
	if !first.Whole || !shows(first, web) {
		t.Fatalf("the first message: %+v", first)
	}
	// Of web nothing may change but when its statuses were read, and it may be sent only then.
	before := first.of(web)
	requireSameWeb := func(c change) {
		t.Helper()
		now := c.of(web)
		if c.Whole || now.Key == before.Key && cmp.Equal(before, now) {
			t.Fatalf("Service web is sent again: %+v", c)
		}
		if now.Key != "" {
			if diff := cmp.Diff(before, now, cmpopts.IgnoreFields(topology.LoadBalancer{}, "StatusAt")); diff != "" {
				t.Fatalf("Service web has changed (-before +now):\n%s", diff)
			}
			before = now
		}
	}
	api := s.service("api", tcp(8081))
	for c := next(); !shows(c, api); c = next() {
		requireSameWeb(c)
	}
	api.delete()
	for c := next(); !slices.Contains(c.Removed, s.namespace+"/api"); c = next() {
		requireSameWeb(c)
	}
	api.waitUntilGone()
}

// of returns the Service as the message shows it.
func (c change) of(v *service) topology.Service {
	i := slices.IndexFunc(c.Services, func(s topology.Service) bool { return s.Key == v.namespace+"/"+v.name })
	if i < 0 {
		return topology.Service{}
	}
	return c.Services[i]
}

// shows reports whether the message has the Service.
func shows(c change, v *service) bool {
	return slices.ContainsFunc(c.Services, func(s topology.Service) bool { return s.Key == v.namespace+"/"+v.name })
}

func TestTopologyIsReadOnceForAllViewersAndNotWithoutThem(t *testing.T) {
	simulatorOnly(t, "it counts the calls of one program")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	s.waitUntilIdle()
	s.stop()
	s.controller = nil
	p := s.serves(s.adminKubeconfig(), "--refresh-interval=1h")
	p.waitUntilConnected()
	s.resetCalls()
	if status, body := p.status(""); status != http.StatusOK || !strings.Contains(body, "app.js") {
		t.Errorf("the page: status %d: %s", status, body)
	}
	if n := len(s.callsToTheCloud()); n > 0 {
		t.Errorf("%d calls although no viewer looks", n)
	}
	p.waitUntilState(web, topology.OK, "")
	var counts map[string]int
	p.eventually(func() error { // the survey of orphans comes last, and reads floating IPs last
		counts = s.countedCalls()
		if counts["GET /v2.0/floatingips"] < 2 {
			return fmt.Errorf("it still reads: %v", counts)
		}
		return nil
	})
	for call, most := range map[string]int{ // lists are read by the page and, once a minute, by the survey
		"GET /v2.0/lbaas/loadbalancers": 2, "GET /v2.0/lbaas/listeners": 2, "GET /v2.0/lbaas/pools": 2, "GET /v2.0/lbaas/healthmonitors": 2, "GET /v2.0/floatingips": 2,
		"GET /v2.0/lbaas/pools/*/members": 1, "GET /v2.0/lbaas/loadbalancers/*/status": 1,
	} {
		if counts[call] > most || counts[call] == 0 {
			t.Errorf("%s: %d times, at most %d expected; all: %v", call, counts[call], most, counts)
		}
	}
	before := len(s.callsToTheCloud())
	for range 3 {
		p.topology()
	}
	if now := len(s.callsToTheCloud()); now != before {
		t.Errorf("more viewers cost %d calls", now-before)
	}
}

// countedCalls returns the calls to the cloud, by method and path, with * for ids.
func (s *stage) countedCalls() map[string]int {
	s.t.Helper()
	counts := map[string]int{}
	for _, c := range s.callsToTheCloud() {
		path, _, _ := strings.Cut(c, "?")
		counts[regexp.MustCompile(`[0-9a-f-]{36}`).ReplaceAllString(path, "*")]++
	}
	return counts
}

func TestTopologyRequiresTheTokenOfAnAuthorizedUser(t *testing.T) {
	simulatorOnly(t, "the cloud has no part in it")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	kubeconfig := s.pageKubeconfig()
	p := s.serves(kubeconfig, "--authentication=token")
	viewer, stranger := s.account("viewer"), s.account("stranger")
	s.keys = append(s.keys, viewer, stranger)
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "viewer-"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: deploy.Name + "-topology-viewer"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: s.namespace, Name: "viewer"}},
	}
	made, err := s.client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.client.RbacV1().ClusterRoleBindings().Delete(context.Background(), made.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	// Before the cache learns of the binding it would deny the viewer for half a minute.
	s.eventually(func() error { return s.allowed("viewer") })

	for name, c := range map[string]struct {
		token, path string
		want        int
	}{
		"a user without a token":               {"", "topology", http.StatusUnauthorized},
		"a user without a token, the stream":   {"", "topology/events", http.StatusUnauthorized},
		"a wrong token":                        {"wrong", "topology", http.StatusInternalServerError}, // by the filter of controller-runtime
		"a user without the right":             {stranger, "topology", http.StatusForbidden},
		"a user without the right, the stream": {stranger, "topology/events", http.StatusForbidden},
		"the page itself needs no token":       {"", "", http.StatusOK},
		"its probes need no token":             {"", "healthz", http.StatusOK},
		"a user with the right":                {viewer, "topology", http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			s.reportTo(t)
			p.token = c.token
			if status, body := p.status(c.path); status != c.want {
				t.Errorf("status %d, want %d: %s", status, c.want, body)
			} else if status != http.StatusOK && strings.Contains(body, web.name) {
				t.Errorf("a Service is shown: %s", body)
			}
		})
	}
	p.token = viewer
	// With the rights of its ServiceAccount everything can be read.
	p.waitUntilState(web, topology.OK, "")
	if problems := p.topology().Topology.Problems; len(problems) > 0 {
		t.Errorf("problems: %+v", problems)
	}
}

// account makes a ServiceAccount and returns a token of it.
func (s *stage) account(name string) string {
	s.t.Helper()
	accounts := s.client.CoreV1().ServiceAccounts(s.namespace)
	if _, err := accounts.Create(s.t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	answer, err := accounts.CreateToken(s.t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.Status.Token
}

// allowed returns an error unless kube-apiserver lets the ServiceAccount get the topology.
func (s *stage) allowed(account string) error {
	out, err := deploy.Kubectl(s.t.Context(), kubetest.Cluster(s.t), "auth", "can-i", "get", "/topology", "--as=system:serviceaccount:"+s.namespace+":"+account)
	if err == nil && strings.TrimSpace(out) != "yes" {
		err = errors.New(out)
	}
	return err
}

// pageKubeconfig returns the kubeconfig of the ServiceAccount of deploy/ui, with its rights.
func (s *stage) pageKubeconfig() string {
	s.t.Helper()
	controllerToken(s.t) // installs the rest of deploy/
	cluster := kubetest.Cluster(s.t)
	if _, err := deploy.Kubectl(s.t.Context(), cluster, "apply", "-k", "../../deploy/ui"); err != nil {
		s.t.Fatal(err)
	}
	answer, err := s.client.CoreV1().ServiceAccounts(deploy.Namespace).CreateToken(s.t.Context(), deploy.PageName, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	path := s.dir + "/ui.kubeconfig"
	if err := cluster.KubeconfigFor(path, answer.Status.Token); err != nil {
		s.t.Fatal(err)
	}
	s.keys = append(s.keys, answer.Status.Token)
	s.eventually(func() error {
		out, err := deploy.Kubectl(s.t.Context(), cluster, "auth", "can-i", "create", "tokenreviews.authentication.k8s.io", "--as=system:serviceaccount:"+deploy.Namespace+":"+deploy.PageName)
		if err == nil && !strings.Contains(out, "yes") {
			err = errors.New(out)
		}
		return err
	})
	return path
}

func TestTopologyAnswersOnlyToNamesOfThisMachineAndRestrictsTheBrowser(t *testing.T) {
	simulatorOnly(t, "the cloud has no part in it")
	s := newStage(t, settings{off: true})
	p := s.serves(s.adminKubeconfig())
	for host, want := range map[string]int{"localhost": http.StatusOK, "127.0.0.1:80": http.StatusOK, "[::1]": http.StatusOK, "attacker.example.com": http.StatusForbidden, "10.0.0.1:8088": http.StatusForbidden} {
		t.Run(host, func(t *testing.T) {
			s.reportTo(t)
			if status, _ := p.status("topology", func(r *http.Request) { r.Host = host }); status != want {
				t.Errorf("as %s: status %d, want %d", host, status, want)
			}
		})
	}
	answer := p.get(t.Context(), "")
	defer answer.Body.Close()
	if policy := answer.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'self';") {
		t.Errorf("Content-Security-Policy: %q", policy)
	}
}

func TestTopologyReportsWhatTheCloudDoesNotAnswer(t *testing.T) {
	simulatorOnly(t, "it makes faults")
	s := newStage(t, settings{off: true})
	p := s.serves(s.adminKubeconfig())
	s.cloud.Faults().Add(wire.Fault{Service: cloudsim.LoadBalancer, Route: "/v2.0/lbaas/pools", Kind: wire.FaultStatus, Status: http.StatusForbidden})
	p.eventually(func() error {
		problems := p.topology().Topology.Problems
		if len(problems) != 1 || problems[0].Of != "OpenStack" || !strings.Contains(problems[0].Message, "pools") || !strings.Contains(problems[0].Action, "doctor") {
			return fmt.Errorf("problems: %+v", problems)
		}
		return nil
	})
	s.cloud.Faults().Clear()
	p.eventually(func() error {
		if problems := p.topology().Topology.Problems; len(problems) > 0 {
			return fmt.Errorf("problems: %+v", problems)
		}
		return nil
	})
}

func TestTopologyIsServedWhileTheCloudAnswers502AndRecovers(t *testing.T) {
	simulatorOnly(t, "it makes faults")
	s := newStage(t, settings{off: true})
	web := s.service("web", tcp(8080))
	bad := wire.Fault{Kind: wire.FaultStatus, Status: http.StatusBadGateway, Body: "<html>502 Bad Gateway</html>"}
	s.cloud.Faults().Add(bad)
	p := s.serves(s.adminKubeconfig())
	unreadable := func() (change, error) {
		c := p.topology()
		problems := c.Topology.Problems
		if len(problems) != 1 || problems[0].Of != "OpenStack" || !strings.Contains(problems[0].Message, "502") || problems[0].Since.IsZero() || !shows(c, web) {
			return c, fmt.Errorf("it shows %d Services, problems: %+v", len(c.Services), problems)
		}
		return c, nil
	}
	p.eventually(func() error {
		c, err := unreadable()
		if err == nil && !c.Topology.ReadAt.IsZero() {
			err = fmt.Errorf("the cloud was read at %v", c.Topology.ReadAt)
		}
		return err
	})
	var readAt time.Time
	recovered := func() error {
		c := p.topology()
		readAt = c.Topology.ReadAt
		if len(c.Topology.Problems) > 0 || readAt.IsZero() || !shows(c, web) {
			return fmt.Errorf("read at %v, %d Services, problems: %+v", readAt, len(c.Services), c.Topology.Problems)
		}
		return nil
	}
	s.cloud.Faults().Clear()
	p.eventually(recovered)

	s.cloud.Faults().Add(bad)
	p.eventually(func() error {
		c, err := unreadable()
		if err == nil && c.Topology.ReadAt.Before(readAt) {
			err = fmt.Errorf("the age of what is shown is that of %v, which is before %v", c.Topology.ReadAt, readAt)
		}
		return err
	})
	s.cloud.Faults().Clear()
	p.eventually(recovered)
}

func TestTopologyIsNotServedToOtherMachinesWithoutAuthentication(t *testing.T) {
	s := newStage(t, settings{off: true})
	for _, address := range []string{":8088", "0.0.0.0:8088", "[::]:8088", "192.0.2.1:8088", "node-1:8088"} {
		if status, _, errs := s.run("ui", "--address="+address); status != 1 || !strings.Contains(errs, "--authentication=token") {
			t.Errorf("--address=%s: status %d: %s", address, status, errs)
		}
	}
}
