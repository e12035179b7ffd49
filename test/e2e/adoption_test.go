// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"

	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
)

// What users write and read about it.
const (
	observing        = "--adopt=observe"
	readyForAdoption = "ReadyForAdoption"
	changes          = "ChangesOnAdoption"
	observedServices = "kube_octavia_observe_only_services"
)

// inherits lets openstack-cloud-controller-manager make what the rows say, and stop.
func (s *stage) inherits(t *testing.T, rows []legacy) []*occmService {
	t.Helper()
	var all []*occmService
	for _, row := range rows {
		if row.amphora && s.cloud.provider() != "amphora" || *stateDir != "" && testing.Short() && !row.short {
			continue
		}
		o := &occmService{service: &service{stage: s, name: row.name}, cluster: clusterName}
		row.with(o)
		all = append(all, o)
	}
	makeAll(s, all)
	s.eventually(s.cloud.pending)
	return all
}

// same fails the test if anything that clients or openstack-cloud-controller-manager see
// is not as it was; ours is whether the load balancer is to bear our tags.
func (o *occmService) same(ours bool) {
	o.t.Helper()
	now := o.read()
	tags := slices.Clone(o.made.Tags)
	if ours {
		owner, name := o.service, o.balancerName()
		if o.host != "" {
			owner = &service{stage: o.stage, name: o.host}
			name = owner.lbName()
		}
		tags = append(tags, name, "kube-octavia.cluster="+o.clusterUID(), "kube-octavia.service="+string(owner.now().UID))
	}
	slices.Sort(tags)
	if d := cmp.Diff(slices.Compact(tags), slices.Sorted(slices.Values(now.Tags)), cmpopts.EquateEmpty()); d != "" {
		o.t.Errorf("tags of the load balancer of %s (-want +got):\n%s", o.name, d)
	}
	if d := cmp.Diff(o.made, now, cmpopts.IgnoreFields(tree{}, "Tags", "UpdatedAt"), cmpopts.IgnoreFields(poolMember{}, "Operating")); d != "" {
		o.t.Errorf("the load balancer of %s (-was +is):\n%s", o.name, d)
	}
	if d := cmp.Diff(o.was.Status.LoadBalancer, o.service.now().Status.LoadBalancer); d != "" {
		o.t.Errorf("status of %s (-was +is):\n%s", o.name, d)
	}
}

// untaken fails the test if anything was written on the Service but conditions.
func (o *occmService) untaken() {
	o.t.Helper()
	now := o.service.now()
	if d := cmp.Diff(o.was.ObjectMeta, now.ObjectMeta, cmpopts.IgnoreFields(now.ObjectMeta, "ResourceVersion", "ManagedFields")); d != "" {
		o.t.Errorf("Service %s (-was +is):\n%s", o.name, d)
	}
	if d := cmp.Diff(o.was.Spec, now.Spec); d != "" {
		o.t.Errorf("Service %s (-was +is):\n%s", o.name, d)
	}
}

// counts returns the writes for each of them by the record of calls, and the others.
func (s *stage) counts(all []*occmService) (each map[string]int, others []string) {
	each = map[string]int{}
	for _, w := range s.writes() {
		i := slices.IndexFunc(all, func(o *occmService) bool { return w == "PUT /v2.0/lbaas/loadbalancers/"+o.made.ID })
		if i < 0 {
			others = append(others, w)
			continue
		}
		each[all[i].name]++
	}
	return each, others
}

// reads waits until every Service has the condition.
func reads(all []*occmService, is metav1.ConditionStatus, reason string) {
	for _, o := range all {
		o.t.Helper()
		o.waitForCondition(programmed, is, reason)
	}
}

// The whole way from openstack-cloud-controller-manager: look, take over, and be there.
func TestLoadBalancersOfTheOtherControllerAreTakenOverByTheirTagsAlone(t *testing.T) {
	for _, provider := range []string{"amphora", "ovn"} {
		t.Run(provider, func(t *testing.T) {
			onlyWithProvider(t, provider, "the cloud has one provider")
			with := settings{off: true, cloud: cloudsim.Options{Provider: provider}}
			if *stateDir == "" && provider == "ovn" {
				with.conf = []string{"lb-provider=ovn"}
			}
			s := newStage(t, with)
			s.settings.conf = append(s.settings.conf, corpusConf(s)...)
			s.writeFiles()
			all := s.inherits(t, corpus)
			visitor := s.visit(address(all, "tcp"), 8080)

			s.settings.flags = []string{observing}
			s.resetCalls()
			s.start()
			reads(all, metav1.ConditionUnknown, readyForAdoption)
			s.waitUntilIdle()
			s.requireUntouched()
			for _, o := range all {
				o.same(false)
				o.untaken()
			}
			s.stop()

			s.settings.flags = nil
			s.resetCalls()
			s.start()
			reads(all, conditionTrue, "Programmed")
			s.waitUntilIdle()
			each, others := s.counts(all)
			written := 0
			for _, o := range all {
				written += each[o.name]
				// One that Services share is that of the first, and is written to once.
				if want := map[bool]int{true: 1, false: 0}[o.host == ""]; each[o.name] != want {
					t.Errorf("%d writes to the load balancer of %s", each[o.name], o.name)
				}
				o.same(true)
			}
			if len(others) > 0 {
				t.Errorf("other writes:\n%s", strings.Join(others, "\n"))
			}
			s.stop()

			s.resetCalls()
			s.start()
			s.waitForPassAfter(func() { all[0].change(touched("and so it is looked at")) })
			reads(all, conditionTrue, "Programmed")
			s.waitUntilIdle()
			s.requireUntouched()
			s.requireNoFailedRequest(visitor)
			t.Logf("%d Services: 0 writes with %s, %d without, 0 after a restart", len(all), observing, written+len(others))
			s.goesFirst(all, "shared-second")
			s.keepsGiven(all)
		})
	}
}

// What two Services share that openstack-cloud-controller-manager let do so is the first
// one's, stays with the second when that leaves, and goes with the last.
func TestLastSharerOfALoadBalancerOfTheOtherControllerDeletesIt(t *testing.T) {
	skipOnRealOpenStack(t, "for the cloud it is as if we had made it")
	s := newStage(t, settings{off: true})
	all := s.inherits(t, rowsOf("shared-first", "shared-second"))
	first, second := all[0], all[1]
	at := address(all, "shared-first")
	s.start()
	reads(all, conditionTrue, "Programmed")
	if w := s.cloud.count("loadbalancers"); w != 1 {
		t.Errorf("there are %d load balancers", w)
	}
	visitor := s.visit(at, 8081)
	first.delete()
	first.waitUntilGone()
	s.requirePorts(first.made.ID, "TCP/8081")
	s.requireNoFailedRequest(visitor)
	if f := s.cloud.floatingIP(at); f.PortID != first.made.VIPPort || !strings.Contains(f.Description, "kube-octavia.service="+string(first.was.UID)) {
		t.Errorf("the floating IP is %+v", f)
	}
	s.stop()
	s.start()
	second.waitForCondition(programmed, conditionTrue, "Programmed")
	second.delete()
	second.waitUntilGone()
	if n := s.cloud.count("loadbalancers"); n != 0 {
		t.Errorf("%d load balancers are left", n)
	}
	s.requireFloatingIPGone(at)
}

// goesFirst deletes the Service of the name, if there is one.
func (s *stage) goesFirst(all []*occmService, name string) {
	for _, o := range all {
		if o.name == name {
			o.delete()
			o.waitUntilGone()
		}
	}
}

// address is at which the Service of the name is reached.
func address(all []*occmService, name string) string {
	i := slices.IndexFunc(all, func(o *occmService) bool { return o.name == name })
	return all[i].was.Status.LoadBalancer.Ingress[0].IP
}

// keepsGiven notes the floating IPs that stay when their Services go.
func (s *stage) keepsGiven(all []*occmService) {
	for _, o := range all {
		if o.was.Annotations[keepKey] == "true" {
			s.given = append(s.given, o.was.Status.LoadBalancer.Ingress[0].IP)
		}
	}
}

func TestNameCutAt255BytesIsThatOfTheOtherController(t *testing.T) {
	skipOnRealOpenStack(t, "a name is a name")
	s := newStage(t, settings{off: true})
	cluster := strings.Repeat("long-cluster-name-", 11)
	o := &occmService{service: &service{stage: s, name: strings.Repeat("web-", 15) + "web"}, cluster: cluster,
		edits: []edit{tcp(8080, 8081), annotated(internalKey, "true")}, internal: true}
	if n := len("kube_service_" + cluster + "_" + s.namespace + "_" + o.name); n <= 255 {
		t.Fatalf("the name has %d bytes", n)
	}
	// Octavia and Neutron take no descriptions as long as these would be, so what has such
	// a name has none, or got the name later.
	o.sets(itself, fields{"description": ""})
	makeAll(s, []*occmService{o})
	s.settings.flags = []string{"--cluster-name=" + cluster}
	s.resetCalls()
	s.start()
	reads([]*occmService{o}, conditionTrue, "Programmed")
	s.waitUntilIdle()
	if each, others := s.counts([]*occmService{o}); each[o.name] != 1 || len(others) > 0 {
		t.Errorf("writes: %v, %v", each, others)
	}
	o.same(true)
}

// rowsOf returns the rows of the corpus with these names.
func rowsOf(names ...string) []legacy {
	var rows []legacy
	for _, name := range names {
		rows = append(rows, corpus[slices.IndexFunc(corpus, func(row legacy) bool { return row.name == name })])
	}
	return rows
}

// waitForMessage waits until condition Programmed has the reason and the text.
func (v *service) waitForMessage(is metav1.ConditionStatus, reason, text string) {
	v.t.Helper()
	v.eventually(func() error {
		if c := v.waitForCondition(programmed, is, reason); !strings.Contains(c.Message, text) {
			return fmt.Errorf("the condition of Service %s does not say %q: %s", v.name, text, c.Message)
		}
		return nil
	})
}

func TestServicesThatAreOnlyObservedAreNotChangedUntilTheyAreTakenOver(t *testing.T) {
	skipOnRealOpenStack(t, "for the cloud it is a few reads")
	s := newStage(t, settings{off: true, flags: []string{observing, "--sweep-interval=1s"}})
	all := s.inherits(t, rowsOf("tcp", "several-ports", "internal", "no-tags-at-all"))
	more, grows, leaves, stays := all[0], all[1], all[2], all[3]
	s.resetCalls()
	s.start()
	reads(all, metav1.ConditionUnknown, readyForAdoption)
	s.waitForGauge(observedServices, len(all))
	if status, out, errs := s.run("plan", "-n", s.namespace, observing); status != 0 || strings.Count(out, "only observed") != len(all) {
		t.Errorf("plan ends with %d:\n%s%s", status, out, errs)
	}

	fresh := s.service("fresh", tcp(8080))
	more.change(tcp(8081))
	leaves.delete()
	fresh.waitForMessage(metav1.ConditionUnknown, changes, "create load balancer "+fresh.lbName())
	more.waitForMessage(metav1.ConditionUnknown, changes, openPort(8081))
	leaves.waitForMessage(metav1.ConditionUnknown, changes, "delete load balancer "+leaves.made.ID)
	s.addNode("c")
	grows.waitForMessage(metav1.ConditionUnknown, changes, "1 added, 0 removed")
	stays.waitForMessage(metav1.ConditionUnknown, changes, "1 added, 0 removed")
	s.waitForSweeps(2)
	s.waitUntilIdle()
	s.requireUntouched()
	for _, o := range all {
		o.same(false)
		if o != leaves && o != more {
			o.untaken()
		}
	}
	if f := leaves.service.now().Finalizers; len(f) != 1 {
		t.Errorf("the Service that is deleted has the finalizers %v", f)
	}
	if now := fresh.now(); len(now.Finalizers)+len(now.Annotations) > 0 {
		t.Errorf("the new Service has %v, %v", now.Finalizers, now.Annotations)
	}
	s.stop()

	s.settings.flags = nil
	s.start()
	leaves.waitUntilGone()
	for _, v := range []*service{fresh, more.service, grows.service, stays.service} {
		v.waitUntilProgrammed()
	}
	more.waitForTree(ports("TCP/8080", "TCP/8081"))
	grows.waitForTree(membersAt(s.addresses("a", "b", "c")...))
}

func TestServicesThatWereTakenOverAreServedWhileOthersAreOnlyObserved(t *testing.T) {
	skipOnRealOpenStack(t, "for the cloud nothing is new")
	s := newStage(t, settings{})
	own := s.service("own", tcp(8080))
	own.waitUntilProgrammed()
	s.waitUntilIdle()
	s.stop()
	others := s.inherits(t, rowsOf("tcp"))
	s.settings.flags = []string{observing, "--sweep-interval=1s"}
	s.start()
	reads(others, metav1.ConditionUnknown, readyForAdoption)
	s.resetCalls()
	own.change(tcp(8081))
	own.waitForTree(ports("TCP/8080", "TCP/8081"))
	own.waitUntilProgrammed()
	s.addNode("c")
	own.waitForTree(membersAt(s.addresses("a", "b", "c")...))
	others[0].waitForMessage(metav1.ConditionUnknown, changes, "1 added, 0 removed")
	s.waitUntilIdle()
	others[0].same(false)
	others[0].untaken()

	// Who takes our tags off it has it observed.
	have := own.tree()
	s.waitForNextSecond(have)
	s.cloud.octavia("PUT", "loadbalancers/"+have.ID, fields{"loadbalancer": fields{"tags": []string{}}}, nil)
	own.waitForMessage(metav1.ConditionUnknown, readyForAdoption, have.ID)
	s.stop()
	s.settings.flags = nil
	s.start()
	own.waitUntilProgrammed()
	others[0].waitUntilProgrammed()
}

// The one thing that is done otherwise on purpose: openstack-cloud-controller-manager sends
// traffic to nodes that drop it, unless there is a health monitor.
func TestNodesThatDropTrafficLeaveThePoolsOfALocalService(t *testing.T) {
	skipOnRealOpenStack(t, "for the cloud it is a change of members")
	s := newStage(t, settings{off: true, podless: true})
	s.runPod("one", "a")
	web := s.inherits(t, rowsOf("local-without-monitor"))[0]
	s.resetCalls()
	row := s.migration(2).of(web.name)
	if row.Outcome != "changed" || len(row.Ops) != 2 || row.Ops[1].Kind != "SetMembers" {
		t.Errorf("migrate says: %+v", row)
	}
	s.settings.flags = []string{observing}
	s.start()
	web.waitForMessage(metav1.ConditionUnknown, changes, "0 added, 1 removed")
	s.waitUntilIdle()
	s.requireUntouched()
	web.same(false)
	s.stop()

	s.settings.flags = nil
	s.start()
	web.waitUntilProgrammed()
	web.waitForTree(membersAt(s.addresses("a")...))
}

// foreign are load balancers that have the Service's name and are published and noted on it,
// but belong to another cluster or another Service, and what says so.
var foreign = map[string]struct {
	with func(*occmService)
	says string
}{
	"uid-of-another-cluster": {func(o *occmService) {
		o.sets(itself, fields{"tags": []string{o.balancerName(), "kube-octavia.cluster=other", "kube-octavia.service=other"}})
	}, "uid of another cluster (other)"},
	"description-of-another-cluster": {func(o *occmService) {
		o.sets(itself, fields{"description": "Kubernetes external service " + o.namespace + "/" + o.name + " from cluster elsewhere"})
	}, "another cluster (elsewhere)"},
	"name-of-old-and-description-of-another-cluster": {func(o *occmService) {
		o.differs(func(balancer fields) { balancer["name"] = o.legacyName() })
		o.sets(itself, fields{"description": "Kubernetes external service " + o.namespace + "/" + o.name + " from cluster elsewhere"})
	}, "another cluster (elsewhere)"},
	"description-of-another-service": {func(o *occmService) {
		o.sets(itself, fields{"description": "Kubernetes external service " + o.namespace + "/other from cluster kubernetes"})
	}, "/other from cluster kubernetes"},
	"uid-of-another-service": {func(o *occmService) {
		o.sets(itself, fields{"tags": []string{o.balancerName(), "kube-octavia.service=other"}})
	}, "another Service (uid other)"},
}

func TestLoadBalancerOfAnotherOwnerIsNotTakenOverBecauseOfItsName(t *testing.T) {
	skipOnRealOpenStack(t, "it is our writes that count")
	s := newStage(t, settings{off: true})
	var all []*occmService
	for _, name := range slices.Sorted(maps.Keys(foreign)) {
		o := &occmService{service: &service{stage: s, name: name}, cluster: clusterName, edits: []edit{tcp(8080)}}
		foreign[name].with(o)
		all = append(all, o)
	}
	makeAll(s, all)
	s.resetCalls()
	for _, flag := range []string{observing, "--adopt=tag"} {
		s.settings.flags = []string{flag}
		s.start()
		for _, o := range all {
			o.waitForMessage(conditionFalse, "NotOwned", foreign[o.name].says)
		}
		s.waitUntilIdle()
		s.requireUntouched()
		for _, o := range all {
			o.same(false)
			o.untaken()
		}
		s.stop()
	}
	rows := s.migration(2)
	for _, o := range all {
		row := rows.of(o.name)
		if row.Outcome != "not-owned" || len(row.Reasons) == 0 || !strings.Contains(row.Reasons[0], foreign[o.name].says) {
			t.Errorf("migrate says of %s: %+v", o.name, row)
		}
	}
	s.requireUntouched()
	for _, o := range all {
		s.cloud.octavia("DELETE", "loadbalancers/"+o.made.ID+"?cascade=true", nil, nil)
		s.cloud.neutron("DELETE", "floatingips/"+s.cloud.floatingIP(o.was.Status.LoadBalancer.Ingress[0].IP).ID, nil, nil)
	}
	s.eventually(s.empty)
}

// migration is what `kube-octavia migrate -o json` prints.
type migration struct {
	Services []struct {
		Namespace, Name, Outcome, LoadBalancerID, Address string
		Reasons                                           []string
		Ops                                               []struct{ Kind, Text string }
	} `json:"items"`
	Others         []struct{ ID, Name, Reason string }
	SecurityGroups []struct{ ID, Name, Outcome, Reason string }
	Kuryr          []struct {
		Namespace, Name          string
		ServiceFinalizer, Object bool
		ObjectFinalizers         []string
	}
}

// migration runs the command, which must end with the status.
func (s *stage) migration(status int) migration {
	s.t.Helper()
	got, out, errs := s.run("migrate", "--output=json")
	if got != status {
		s.t.Fatalf("migrate ended with status %d, not %d:\n%s%s", got, status, out, errs)
	}
	return s.parseMigration(out)
}

// parseMigration reads what `kube-octavia migrate --output=json` printed.
func (s *stage) parseMigration(out string) (m migration) {
	s.t.Helper()
	if err := json.Unmarshal([]byte(out), &m); err != nil {
		s.t.Fatalf("%v in:\n%s", err, out)
	}
	return m
}

// of returns the row of the Service.
func (m migration) of(name string) (row struct {
	Namespace, Name, Outcome, LoadBalancerID, Address string
	Reasons                                           []string
	Ops                                               []struct{ Kind, Text string }
}) {
	for _, row := range m.Services {
		if row.Name == name {
			return row
		}
	}
	return row
}

func TestMigrateShowsWhatWouldHappenToEveryServiceAndDoesNothing(t *testing.T) {
	skipOnRealOpenStack(t, "what it reads is what the controller reads")
	s := newStage(t, settings{off: true})
	all := s.inherits(t, rowsOf("tcp", "internal", "name-of-old", "several-ports", "connection-limit", "hostname", "shared-first", "shared-second"))
	s.resetCalls()
	if m := s.migration(0); len(m.Services) != len(all) || len(m.Others) > 0 {
		t.Errorf("%+v", m)
	}

	changed, leaves, refused := all[3], all[4], all[5]
	changed.service.change(tcp(8083))
	leaves.delete()
	refused.service.change(annotated(internalKey, "maybe"))
	s.service("fresh", tcp(8080))
	s.service("classy", tcp(8080), ofClass("other.example/lb"))
	s.service("plain", tcp(8080), ofType(corev1.ServiceTypeClusterIP))
	s.service("waits", tcp(8080), grouped("shop"))
	s.service("makes", tcp(8081), grouped("shop"))
	theirs := s.makeBalancer("kube_service_elsewhere_"+s.namespace+"_web", nil)
	copied := s.service("copied", tcp(8080))
	unknown := s.makeBalancer(copied.lbName(), []string{copied.lbName()})
	s.makeBalancer("a person's", nil)
	was := map[string]*corev1.Service{}
	for _, name := range []string{"tcp", "several-ports", "hostname", "fresh", "copied"} {
		was[name] = (&service{stage: s, name: name}).now()
	}
	s.resetCalls()
	m := s.migration(2)
	for name, want := range map[string]struct{ outcome, says string }{
		"tcp":              {"adopted", "tags"},
		"internal":         {"adopted", "tags"},
		"name-of-old":      {"adopted", "tags"},
		"several-ports":    {"changed", openPort(8083)},
		"connection-limit": {"released", "delete load balancer " + leaves.made.ID},
		"hostname":         {"refused", "maybe"},
		"fresh":            {"created", "create load balancer"},
		"shared-first":     {"adopted", "tags"},
		"shared-second":    {"adopted", ""},
		"classy":           {"left-alone", "other.example/lb"},
		"copied":           {"not-owned", unknown},
	} {
		t.Run(name, func(t *testing.T) {
			row := m.of(name)
			text := strings.Join(row.Reasons, " ")
			for _, op := range row.Ops {
				text += " " + op.Text
			}
			if row.Outcome != want.outcome || !strings.Contains(text, want.says) {
				t.Errorf("%+v; want %s that says %q", row, want.outcome, want.says)
			}
		})
	}
	makes, waits := m.of("makes"), m.of("waits")
	if len(makes.Ops) == 0 {
		makes, waits = waits, makes // the older one is the one that makes it
	}
	if makes.Outcome != "created" || waits.Outcome != "created" || len(waits.Ops) > 0 || !strings.Contains(strings.Join(waits.Reasons, " "), s.namespace+"/"+makes.Name) {
		t.Errorf("of a group: %+v and %+v", makes, waits)
	}
	if row := m.of("tcp"); row.LoadBalancerID != all[0].made.ID || row.Address != address(all, "tcp") {
		t.Errorf("%+v", row)
	}
	if row := m.of("plain"); row.Name != "" {
		t.Errorf("a Service of type ClusterIP: %+v", row)
	}
	if len(m.Others) != 1 || m.Others[0].ID != theirs {
		t.Errorf("others: %+v", m.Others)
	}
	status, text, errs := s.run("migrate")
	for _, part := range []string{"13 Services:", "5   adopted", all[0].made.ID, openPort(8083), theirs, unknown} {
		if status != 2 || !strings.Contains(text, part) {
			t.Errorf("status %d; %q is not in the text:\n%s%s", status, part, text, errs)
		}
	}
	s.requireUntouched()
	for name, before := range was {
		if d := cmp.Diff(before, (&service{stage: s, name: name}).now()); d != "" {
			t.Errorf("Service %s (-was +is):\n%s", name, d)
		}
	}
	(&service{stage: s, name: "classy"}).delete()
	refused.service.change(annotated(internalKey, "false"))
	for _, b := range s.cloud.ids("loadbalancers") {
		if !slices.ContainsFunc(all, func(o *occmService) bool { return o.made.ID == b }) {
			s.cloud.octavia("DELETE", "loadbalancers/"+b+"?cascade=true", nil, nil)
		}
	}
	s.start()
	s.goesFirst(all, "shared-second")
	for _, v := range []*service{{stage: s, name: "makes"}, {stage: s, name: "waits"}} {
		if v.waitUntilProgrammed(); v.name == waits.Name {
			v.delete() // before the one that has the floating IP
			v.waitUntilGone()
		}
	}
}
