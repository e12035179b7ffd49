// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package walks_test

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/test/openstack"
)

// Which Services share a load balancer, which of them owns it, and which is refused, depends on the order in which they came. So
// such a stage is compared with one on which each Service has a load balancer of its own. On the load balancer that a Service has,
// its ports and what it says must be the same there, unless it is refused for the sake of another Service. Nothing else may be
// there. In the end, Services that are refused are created again without sharing, and must be served.

// mayBeRefused are the reasons to refuse a Service, or a part of it, for the sake of others.
var mayBeRefused = []string{
	desired.ReasonSharingRefused, desired.ReasonRequiresReplacement, desired.ReasonInvalidAnnotation, desired.ReasonMetricsUnsupported, desired.ReasonLoadBalancerNotTagged,
	diff.ReasonPortInUse, status.ReasonNotOwned,
}

// judgeShared is judge for a stage on which Services may share load balancers.
func (s *stage) judgeShared(behind tamperer) error {
	if err := errors.Join(s.sleep(s.pace.settle), s.failOverShared()); err != nil {
		return err
	}
	for {
		want, err := s.apart()
		if err != nil {
			return err
		}
		refused := want.refused()
		if len(refused) == 0 {
			break
		}
		if err := s.await(s.sharesAs(want, refused, nil), nil); err != nil {
			return err
		}
		if err := s.correctAll(refused); err != nil {
			return err
		}
	}
	want, err := s.apart()
	if err != nil {
		return err
	}
	var refusedToShare []string
	if err := s.await(s.sharesAs(want, nil, &refusedToShare), nil); err != nil {
		return err
	}
	if err := s.separate(refusedToShare); err != nil {
		return err
	}
	if want, err = s.apart(); err != nil {
		return err
	}
	return s.await(func() error {
		var still []string
		if err := s.sharesAs(want, nil, &still)(); err != nil {
			return err
		}
		if len(still) > 0 {
			return fmt.Errorf("%v were created again without sharing, and %v are refused", refusedToShare, still)
		}
		return nil
	}, behind)
}

// failOverShared fails over the load balancers in ERROR, as a user does: one that is shared, or that another Service
// requests by its id, is not replaced while its owner is refused, and the user of the controller may not fail it over.
// The same is true of one that other Services of the group want to join, where its owner requests what cannot be built.
func (s *stage) failOverShared() error {
	services, err := s.client.CoreV1().Services("").List(s.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	requested := func(id string) bool {
		return slices.ContainsFunc(services.Items, func(v corev1.Service) bool {
			return s.requestedIDs[v.Namespace+"/"+v.Name] == id && v.Annotations[annotation.LoadBalancerID] == id
		})
	}
	joined := func(id string) bool {
		return slices.ContainsFunc(services.Items, func(owner corev1.Service) bool {
			return owner.Annotations[annotation.LoadBalancerID] == id && slices.ContainsFunc(services.Items, func(v corev1.Service) bool {
				name := v.Annotations[annotation.LoadBalancerGroup]
				return v.UID != owner.UID && name != "" && name == owner.Annotations[annotation.LoadBalancerGroup]
			})
		})
	}
	var list struct {
		LoadBalancers []struct {
			ID     string
			Status string `json:"provisioning_status"`
			Tags   []string
		}
	}
	if err := s.octavia(http.MethodGet, "loadbalancers", nil, &list); err != nil {
		return err
	}
	for _, l := range list.LoadBalancers {
		names := slices.DeleteFunc(l.Tags, func(tag string) bool { return !strings.HasPrefix(tag, "kube_service_") })
		if l.Status != "ERROR" || len(names) < 2 && !requested(l.ID) && !joined(l.ID) {
			continue
		}
		fmt.Fprintf(s.process, "--- failed over: %s of %v\n", l.ID, names)
		admin := openstack.SimulatedAdmin(s.cloud)
		if err := openstack.Call(s.ctx, admin, cloudsim.LoadBalancer, http.MethodPut, "/v2.0/lbaas/loadbalancers/"+l.ID+"/failover", nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// apart returns the picture of a stage with the last requests on which no Service shares.
func (s *stage) apart() (picture, error) {
	r, err := s.requests()
	if err != nil {
		return nil, err
	}
	for _, v := range r.services {
		delete(v.Annotations, annotation.LoadBalancerGroup)
	}
	want, err := s.alone(filepath.Join(s.dir, "alone"), r)
	if err != nil {
		return nil, fmt.Errorf("the last requests without sharing: %w", err)
	}
	return want, nil
}

// separate creates Services again, without sharing. The load balancer that they shared stays for the others, with the port that one
// of them may have given for it.
func (s *stage) separate(services []string) error {
	if len(services) > 0 {
		fmt.Fprintf(s.process, "--- created again without sharing: %v\n", services)
	}
	for _, on := range services {
		for _, key := range []string{annotation.LoadBalancerGroup, annotation.PortID} {
			if err := edit(annotate)(s, action{On: on, Key: key, Value: absent}); err != nil {
				return err
			}
		}
		if err := s.recreate(action{On: on}); err != nil {
			return err
		}
	}
	return nil
}

// sharesAs returns what checks whether the stage looks as it should when want is the picture without sharing. The Services that
// are refused there keep what they have. It notes which are refused for the sake of others.
func (s *stage) sharesAs(want picture, refused []string, refusedToShare *[]string) func() error {
	return func() error {
		now, err := s.picture()
		if err != nil {
			return err
		}
		if err := s.ledger.check(s); err != nil {
			return err
		}
		r, err := s.requests()
		if err != nil {
			return err
		}
		groups := map[string]string{}
		for _, v := range r.services {
			groups[v.Namespace+"/"+v.Name] = v.Annotations[annotation.LoadBalancerGroup]
		}
		j := newSharedJudge(now, want, groups, refused)
		j.judge()
		if refusedToShare != nil {
			*refusedToShare = j.refusedToShare
		}
		if len(j.faults) > 0 {
			return fmt.Errorf("Services share load balancers, and it is not right:\n%s", strings.Join(j.faults, "\n"))
		}
		return nil
	}
}

// sharedJudge judges a picture by one without sharing.
type sharedJudge struct {
	now, want picture
	groups    map[string]string // of the Services
	refused   []string          // the Services that are refused as a whole
	balancers map[string]string // of the Services: labels
	ports     []sharedPort

	faults         []string
	refusedToShare []string
}

// sharedPort is a line of a picture about a port of a load balancer.
type sharedPort struct{ line, balancer, port, service string }

var (
	portLine    = regexp.MustCompile(`^(load balancer of .*), port ([A-Z_]+/[0-9]+)$`)
	serviceName = regexp.MustCompile(`kube-octavia\.service=<([^>]+)>`)
	givenAt     = regexp.MustCompile(`floating IP \$given-[ab] at`)
	notCompared = regexp.MustCompile(`"(name|description)":"[^"]*",?|"tags":\[[^\]]*\],?`)
	ofMember    = regexp.MustCompile(`"(address|subnet_id)":"[^"]*",?`)
	acceptance  = regexp.MustCompile(`kube-octavia\.io/(?:Accepted=False (\w+)|Programmed=False (NotOwned))`)
)

func newSharedJudge(now, want picture, groups map[string]string, refused []string) *sharedJudge {
	j := &sharedJudge{now: now, want: want, groups: groups, refused: slices.Clone(refused), balancers: map[string]string{}}
	for line, text := range now {
		if name, ok := strings.CutPrefix(line, "Service "); ok {
			// One that says NotOwned only names a load balancer, and must not use it.
			if label := loadBalancerIDOf(text); label != "" && !strings.Contains(text, status.ReasonNotOwned) {
				j.balancers[name] = label
			}
		}
		if m := portLine.FindStringSubmatch(line); m != nil {
			p := sharedPort{line: line, balancer: m[1], port: m[2]}
			listener, _, _ := strings.Cut(text, "\n")
			if of := serviceName.FindStringSubmatch(listener); of != nil {
				p.service = of[1]
			}
			j.ports = append(j.ports, p)
		}
	}
	return j
}

// loadBalancerIDOf returns the label of the load balancer that a Service names in what it says, or "".
func loadBalancerIDOf(says string) string {
	for said := range strings.SplitSeq(says, "\n") {
		if label, names := strings.CutPrefix(said, annotation.LoadBalancerID+"="); names {
			return label
		}
	}
	return ""
}

func (j *sharedJudge) fault(format string, args ...any) {
	j.faults = append(j.faults, fmt.Sprintf(format, args...))
}

func (j *sharedJudge) judge() {
	for _, line := range sortedKeys(j.want) {
		if name, ok := strings.CutPrefix(line, "Service "); ok && j.now[line] == "" {
			j.fault("Service %s is not there", name)
		}
	}
	for _, line := range sortedKeys(j.now) {
		name, ok := strings.CutPrefix(line, "Service ")
		switch {
		case ok && j.want[line] == "":
			j.fault("%s is there: %s", line, j.now[line])
		case ok && !slices.Contains(j.refused, name):
			j.service(name)
		}
	}
	for _, line := range sortedKeys(j.now) {
		if !strings.HasPrefix(line, "Service ") {
			j.cloud(line)
		}
	}
}

// service judges a Service: what it says, and its ports.
func (j *sharedJudge) service(name string) {
	own, label := "load balancer of <"+name+">", j.balancers[name]
	says, alone := j.now["Service "+name], j.want["Service "+name]
	if !strings.Contains(alone, "$given") {
		says = givenAt.ReplaceAllString(says, "floating IP at")
	}
	if reason := acceptance.FindStringSubmatch(says); reason != nil {
		j.refusedToShare = append(j.refusedToShare, name)
		j.refusal(name, reason[1]+reason[2])
		if desired.Refuses(reason[1]) {
			j.refused = append(j.refused, name)
		} else if reason[1] != "" {
			j.portsOf(name, reason[1])
		}
		return
	}
	if label != "" {
		alone = strings.ReplaceAll(alone, own, label)
	}
	if d := cmp.Diff(alone, says); d != "" {
		j.fault("Service %s does not say what it says without sharing (-alone +now):\n%s", name, d)
	}
	j.portsOf(name, "")
}

// portsOf judges the ports of a Service: each is as without sharing, but those that it is refused for a reason.
func (j *sharedJudge) portsOf(name, reason string) {
	own, label := "load balancer of <"+name+">", j.balancers[name]
	for line, text := range j.want {
		m := portLine.FindStringSubmatch(line)
		if m == nil || m[1] != own {
			continue
		}
		others := slices.ContainsFunc(j.ports, func(p sharedPort) bool {
			return p.balancer == label && socket(p.port) == socket(m[2]) && p.service != name
		})
		// With several reasons, the condition has the first one, and the others in its message.
		if reason != "" && others || reason == desired.ReasonMetricsUnsupported && strings.HasPrefix(m[2], "PROMETHEUS") {
			continue
		}
		if d := cmp.Diff(comparablePorts(text, j.now[label+", port "+m[2]])); d != "" {
			j.fault("port %s of Service %s on %s is not as without sharing (-alone +now):\n%s", m[2], name, label, d)
		}
	}
}

// refusal judges a Service that is refused, though it would not be without sharing.
func (j *sharedJudge) refusal(name, reason string) {
	label := j.balancers[name]
	var others []string
	for other := range j.groups {
		if other != name && (j.groups[name] != "" && j.groups[other] == j.groups[name] || label != "" && j.balancers[other] == label) {
			others = append(others, other)
		}
	}
	owned := label == "" || strings.HasPrefix(label, "load balancer of <"+name+">")
	// The load balancer of a group is not replaced, even if no other Service is there.
	alone := len(others) == 0 && owned && (reason != status.ReasonNotOwned || j.groups[name] != "") && (j.groups[name] == "" || reason != desired.ReasonRequiresReplacement)
	own := "load balancer of <" + name + ">"
	if reason == status.ReasonNotOwned {
		// It joined the load balancer of another Service when that was allowed, and has no port there.
		named := loadBalancerIDOf(j.now["Service "+name])
		alone = alone && (strings.HasPrefix(named, own) || j.now[named] == "")
	}
	if alone && !j.now.cannotBeReplaced(name, j.now[own], j.want[own]) || !slices.Contains(mayBeRefused, reason) {
		j.fault("Service %s is refused for the sake of no other Service: %s", name, j.now["Service "+name])
	}
	if reason == diff.ReasonPortInUse && !slices.ContainsFunc(j.ports, func(p sharedPort) bool {
		return p.balancer == label && p.service != name && j.requests(name, socket(p.port))
	}) {
		j.fault("Service %s says that its ports are in use, and no other Service uses them", name)
	}
	has := slices.ContainsFunc(j.ports, func(p sharedPort) bool { return p.balancer == label && p.service == name })
	for _, said := range strings.Split(j.now["Service "+name], "\n") {
		address, ok := strings.CutPrefix(said, "published ")
		if ok && (!has || !strings.Contains(address, label) && strings.Contains(address, " ")) {
			j.fault("Service %s publishes %s, and has ports on %q: %v", name, address, label, has)
		}
	}
}

// requests reports whether a Service requests what needs the socket.
func (j *sharedJudge) requests(name, needed string) bool {
	for line := range j.want {
		m := portLine.FindStringSubmatch(line)
		if m != nil && m[1] == "load balancer of <"+name+">" && socket(m[2]) == needed {
			return true
		}
	}
	return false
}

// socket returns what a listener needs for itself: all protocols but UDP and SCTP use TCP.
func socket(port string) string {
	protocol, number, _ := strings.Cut(port, "/")
	if protocol != "UDP" && protocol != "SCTP" {
		protocol = "TCP"
	}
	return protocol + "/" + number
}

// cloud judges a line about something in the cloud.
func (j *sharedJudge) cloud(line string) {
	balancer, _, part := strings.Cut(line, ", ")
	if _, at, ok := strings.Cut(line, " at "); ok && strings.HasPrefix(line, "floating IP ") {
		balancer, part = at, true
	}
	var users []string
	for name, label := range j.balancers {
		if label == balancer {
			users = append(users, name)
		}
	}
	text := j.now[line]
	if slices.ContainsFunc(j.refused, func(name string) bool {
		return strings.Contains(line+text, "<"+name+">") || slices.Contains(users, name)
	}) {
		return // one that is refused keeps what it has
	}
	switch i := slices.IndexFunc(j.ports, func(p sharedPort) bool { return p.line == line }); {
	case strings.HasPrefix(line, "secret "):
		if _, requested := j.want[line]; !requested {
			j.fault("no Service uses %s", line)
		}
	case len(users) == 0:
		j.fault("no Service uses %s: %s", line, text)
	case i >= 0:
		j.port(j.ports[i])
	case strings.HasSuffix(line, ", pool without listener") || strings.Contains(line, ", pool without listener #"):
		j.fault("%s: %s", line, text)
	case !part && (!strings.Contains(text, `"provisioning_status":"ACTIVE"`) || !strings.Contains(text, `"admin_state_up":true`)):
		j.fault("%s does not work: %s", line, text)
	}
}

// port judges a port of a load balancer: its Service uses the load balancer, requests the port, and is not reachable from
// outside unless it requests that.
func (j *sharedJudge) port(p sharedPort) {
	if j.balancers[p.service] != p.balancer {
		j.fault("%s is there for %q, which does not use the load balancer: %s", p.line, p.service, j.now[p.line])
		return
	}
	own := "load balancer of <" + p.service + ">"
	if j.want[own+", port "+p.port] == "" {
		j.fault("%s is there, and %s does not request it: %s", p.line, p.service, j.now[p.line])
	}
	if floating := hasFloatingIP(j.now, p.balancer); floating && !hasFloatingIP(j.want, own) {
		j.fault("%s is there for %s, which is internal, and the load balancer has a floating IP", p.line, p.service)
	}
}

func hasFloatingIP(p picture, balancer string) bool {
	for line := range p {
		if _, at, ok := strings.Cut(line, " at "); ok && strings.HasPrefix(line, "floating IP ") && at == balancer {
			return true
		}
	}
	return false
}

// comparablePorts is two texts about a port without names and tags, which show who owns the load balancer.
func comparablePorts(a, b string) (_, _ string) {
	clean := func(text string) string {
		return strings.ReplaceAll(notCompared.ReplaceAllString(text, ""), "$subnet-b", "$subnet")
	}
	a, b = clean(a), clean(b)
	if !strings.Contains(a, `"address":`) || !strings.Contains(b, `"address":`) {
		// which nodes are members depends on the uid of a Service, and the picture does not show it
		a, b = ofMember.ReplaceAllString(a, ""), ofMember.ReplaceAllString(b, "")
	}
	return a, b
}
