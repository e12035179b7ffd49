// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package walks_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// story is what happens on a walk.
type story []action

func (st story) String() string {
	var b strings.Builder
	for i, a := range st {
		fmt.Fprintf(&b, "  %2d. %v\n", i+1, a)
	}
	return b.String()
}

// requested returns a Service as its author requests it, without what others have written.
func requested(v *corev1.Service) *corev1.Service {
	r := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: v.Name, Namespace: v.Namespace, Annotations: map[string]string{}, Labels: v.Labels}, Spec: *v.Spec.DeepCopy()}
	for key, value := range v.Annotations {
		if !slices.ContainsFunc(annotation.Table, func(a annotation.Annotation) bool { return a.Output && a.Key == key }) {
			r.Annotations[key] = value
		}
	}
	return r
}

// tamperer changes something without the knowledge of the oracle; it is nil except in tests of the
// oracle.
type tamperer func(*stage) error

// walk runs a story on a new stage and returns what was wrong at its end or during the walk. It closes the
// stage.
func walk(s *stage, st story, behind tamperer) (log string, err error) {
	defer func() {
		s.process.kill()
		log = s.process.log()
		err = errors.Join(err, panicked(log), s.end())
	}()
	if err := s.startProcess(); err != nil {
		return "", err
	}
	for i, a := range st {
		fmt.Fprintf(s.process, "--- %d. %v\n", i+1, a)
		if _, err := s.play(a); err != nil {
			return "", fmt.Errorf("step %d: %w", i+1, err)
		}
		if err := s.ledger.check(s); err != nil {
			return "", fmt.Errorf("after step %d: %w", i+1, err)
		}
	}
	fmt.Fprintf(s.process, "--- quiet\n")
	if err := s.calm(); err != nil {
		return "", err
	}
	if err := s.judge(behind); err != nil {
		return "", err
	}
	return "", errors.Join(errors.Join(s.ledger.violations...), s.finish(), errors.Join(s.needless.take()...))
}

// panicked returns an error if the controller has panicked: its library catches that and tries again, and the last requests
// alone may panic too.
func panicked(log string) error {
	if _, after, found := strings.Cut(log, "Observed a panic"); found {
		message, _, _ := strings.Cut(after, "\n")
		return fmt.Errorf("the controller panicked: %s", message)
	}
	return nil
}

// judge compares the stage with one that has only the last requests. Services that are refused keep what they have; so they
// are compared once more when their authors have corrected them.
func (s *stage) judge(behind tamperer) error {
	if s.shares {
		return s.judgeShared(behind)
	}
	const attempts = 6 // Services are corrected, or created again, once or twice
	for range attempts {
		r, err := s.requests()
		if err != nil {
			return err
		}
		want, err := s.alone(filepath.Join(s.dir, "alone"), r)
		if err != nil {
			return fmt.Errorf("the last requests alone: %w", err)
		}
		moved, err := s.movedServices()
		if err != nil {
			return err
		}
		var single picture
		if len(moved) > 0 {
			if single, err = s.alone(filepath.Join(s.dir, "alone"), r.singleStack()); err != nil {
				return fmt.Errorf("the last requests alone, with one family: %w", err)
			}
		}
		refused := want.refused()
		last := behind
		if len(refused) > 0 {
			last = nil
		}
		kept, err := s.compare(want, single, refused, moved, last)
		switch {
		case err != nil:
			return err
		case len(refused) > 0:
			err = s.correctAll(refused)
		case len(kept) > 0 && behind == nil:
			err = s.createAgain(kept)
		default:
			return nil
		}
		if err != nil {
			return err
		}
	}
	return errors.New("Services are refused again and again, though they were corrected or created again")
}

func (s *stage) correctAll(services []string) error {
	fmt.Fprintf(s.process, "--- corrected: %v\n", services)
	for _, on := range services {
		if err := edit(correct)(s, action{On: on}); err != nil {
			return err
		}
	}
	return nil
}

// correct removes from a Service what it can be refused for: all that its author has set, but for its group, which it cannot leave.
func correct(_ *stage, v *corev1.Service, _ action) error {
	if v.Annotations == nil {
		v.Annotations = map[string]string{}
	}
	for _, one := range annotation.Table {
		if !one.Output && one.Key != group {
			delete(v.Annotations, one.Key)
		}
	}
	v.Spec.LoadBalancerIP = ""
	if slices.Contains(v.Spec.IPFamilies, corev1.IPv6Protocol) {
		v.Spec.LoadBalancerSourceRanges = nil // they may be of IPv4 only, and cannot be enforced with both families
	}
	return nil
}

// calm ends temporary disturbances: faults, quotas, held load balancers. The controller runs.
func (s *stage) calm() error {
	s.cloud.Faults().Clear()
	s.cloud.Octavia().Release("")
	return errors.Join(s.setQuota(action{Value: absent}), s.startProcess(), s.giveUpAddresses(), s.repairDrift(), s.waitFor(s.pace.patience, s.checkNamespaces))
}

// checkNamespaces returns an error while a namespace is being deleted.
func (s *stage) checkNamespaces() error {
	spaces, err := s.client.CoreV1().Namespaces().List(s.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, space := range spaces.Items {
		if space.DeletionTimestamp != nil {
			err = errors.Join(err, fmt.Errorf("namespace %s is still being deleted: %+v", space.Name, space.Status.Conditions))
		}
	}
	return err
}

// repairDrift ends that Services keep what others have changed.
func (s *stage) repairDrift() error {
	services, err := s.client.CoreV1().Services("").List(s.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, v := range services.Items {
		if v.Annotations[annotation.DriftPolicy] != "" && v.DeletionTimestamp == nil {
			err = errors.Join(err, edit(annotate)(s, action{On: v.Namespace + "/" + v.Name, Key: annotation.DriftPolicy, Value: absent}))
		}
	}
	return err
}

// giveUpAddresses lets only one Service request each of the given addresses, and each port only the Service that it is for: who
// gets it depends on the order. It shows after a while.
func (s *stage) giveUpAddresses() error {
	waiting, err := s.waitForOthers()
	if err != nil || len(waiting) == 0 {
		return err
	}
	if err := s.sleep(s.pace.settle); err != nil {
		return err
	}
	if waiting, err = s.waitForOthers(); err != nil {
		return err
	}
	return s.correctAll(waiting)
}

// waitForOthers returns the Services that request an address or a port that they cannot have: another Service requests
// it, too, or has it. A Service that has an address keeps it, also if it does not request it any more, and so does a
// Service that shares the load balancer of one that was deleted.
func (s *stage) waitForOthers() (waiting []string, _ error) {
	services, err := s.client.CoreV1().Services("").List(s.ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	services.Items = slices.DeleteFunc(services.Items, func(v corev1.Service) bool { return v.DeletionTimestamp != nil })
	has := map[string]string{}
	taken, err := s.attachedAddresses()
	if err != nil {
		return nil, err
	}
	for _, v := range services.Items {
		on := v.Namespace + "/" + v.Name
		b, err := s.find(on)
		if err != nil && !errors.Is(err, errNotPossible) {
			return nil, err
		}
		has[on] = strings.TrimSuffix(s.symbolic(b.floatingIP), "-id")
	}
	for _, v := range services.Items {
		on := v.Namespace + "/" + v.Name
		port := s.symbolic(v.Annotations[annotation.PortID])
		waits := port != "" && port != portFor(on)
		for _, text := range []string{v.Spec.LoadBalancerIP, v.Annotations[annotation.FloatingIP]} {
			name := strings.TrimSuffix(s.symbolic(text), "-id")
			waits = waits || text != "" && name != has[on] && taken[name]
			taken[name] = true
		}
		if waits {
			waiting = append(waiting, on)
		}
	}
	return waiting, nil
}

// attachedAddresses returns the symbols of the floating IPs that something has.
func (s *stage) attachedAddresses() (map[string]bool, error) {
	var list struct {
		FloatingIPs []struct {
			ID   string
			Port string `json:"port_id"`
		}
	}
	if err := s.neutron(http.MethodGet, "floatingips", nil, &list); err != nil {
		return nil, err
	}
	attached := map[string]bool{}
	for _, f := range list.FloatingIPs {
		if f.Port != "" {
			attached[strings.TrimSuffix(s.symbolic(f.ID), "-id")] = true
		}
	}
	return attached, nil
}

// alone returns the picture of a new stage in memory with nothing but these requests, and of these
// versions.
func alone(ctx context.Context, dir string, v versions, r requests) (picture, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	s, err := newMemoryStage(ctx, dir, v)
	if err != nil {
		return nil, err
	}
	defer func() {
		s.process.kill()
		_ = s.end() // it was only looked at
	}()
	if err := s.request(r); err != nil {
		return nil, err
	}
	if err := s.startProcess(); err != nil {
		return nil, err
	}
	return s.settled()
}

// settled returns the picture of the stage when it has not changed for a while.
func (s *stage) settled() (last picture, err error) {
	since := time.Now()
	err = s.waitFor(s.pace.patience, func() error {
		now, err := s.picture()
		if err != nil {
			return err
		}
		if last == nil || now.diff(last) != "" {
			last, since = now, time.Now()
		}
		if time.Since(since) < s.pace.settle {
			return errors.New("it changes")
		}
		return nil
	})
	return last, err
}

// requests are all requests of authors and operators on a stage, with symbols in place of ids and given addresses.
type requests struct {
	conf map[string]string
	// hasServers is whether the nodes are servers.
	hasServers bool
	nodes      []corev1.Node
	servers    []server // of the nodes, if they have any
	slices     []discoveryv1.EndpointSlice
	secrets    []corev1.Secret
	services   []*corev1.Service
}

// requests returns those of the stage, the Services in the order of their creation.
func (s *stage) requests() (r requests, _ error) {
	r.conf, r.hasServers, r.servers = s.conf, s.hasServers, s.servers
	services, err := s.client.CoreV1().Services("").List(s.ctx, metav1.ListOptions{})
	if err != nil {
		return r, err
	}
	slices.SortStableFunc(services.Items, func(a, b corev1.Service) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	for i := range services.Items {
		if services.Items[i].DeletionTimestamp != nil || services.Items[i].Name == "kubernetes" {
			continue
		}
		v := requested(&services.Items[i])
		for key, value := range v.Annotations {
			v.Annotations[key] = s.symbolic(value)
		}
		v.Spec.LoadBalancerIP = s.symbolic(v.Spec.LoadBalancerIP)
		r.services = append(r.services, v)
	}
	nodes, err := s.client.CoreV1().Nodes().List(s.ctx, metav1.ListOptions{})
	if err != nil {
		return r, err
	}
	r.nodes = nodes.Items
	secrets, err := s.client.CoreV1().Secrets("").List(s.ctx, metav1.ListOptions{})
	if err != nil {
		return r, err
	}
	r.secrets = slices.DeleteFunc(secrets.Items, func(o corev1.Secret) bool { return o.Type != corev1.SecretTypeTLS })
	endpoints, err := s.client.DiscoveryV1().EndpointSlices("").List(s.ctx, metav1.ListOptions{})
	if err != nil {
		return r, err
	}
	r.slices = slices.DeleteFunc(endpoints.Items, func(e discoveryv1.EndpointSlice) bool { return e.Namespace == "default" })
	return r, nil
}

// request makes the requests on a stage that has just been made.
func (s *stage) request(r requests) error {
	s.conf = r.conf
	if err := s.writeConf(); err != nil {
		return err
	}
	for _, name := range firstNodes {
		if err := s.client.CoreV1().Nodes().Delete(s.ctx, name, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	if err := s.setSecret(action{On: "shop/certificate", Value: absent}); err != nil {
		return err
	}
	if r.hasServers {
		if err := s.startServers(); err != nil {
			return err
		}
		var err error
		if r.nodes, err = s.takeServers(r.servers, r.nodes); err != nil {
			return err
		}
	}
	for _, n := range r.nodes {
		made, err := s.client.CoreV1().Nodes().Create(s.ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}, Spec: n.Spec}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		made.Status = n.Status
		if _, err := s.client.CoreV1().Nodes().UpdateStatus(s.ctx, made, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	for _, e := range r.slices {
		e.ResourceVersion, e.UID = "", ""
		if _, err := s.client.DiscoveryV1().EndpointSlices(e.Namespace).Create(s.ctx, &e, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	for _, o := range r.secrets {
		o.ResourceVersion, o.UID = "", ""
		if _, err := s.client.CoreV1().Secrets(o.Namespace).Create(s.ctx, &o, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	for _, v := range r.services {
		v = v.DeepCopy()
		for key, value := range v.Annotations {
			v.Annotations[key] = s.resolve(value)
		}
		v.Spec.LoadBalancerIP = s.resolve(v.Spec.LoadBalancerIP)
		if _, err := s.client.CoreV1().Services(v.Namespace).Create(s.ctx, v, metav1.CreateOptions{}); err != nil {
			return err
		}
		if err := s.sleep(s.pace.unit); err != nil {
			return err
		}
	}
	return nil
}

// compare waits until the stage looks as it should, and whether it stays so. Of the moved Services it returns those that keep
// other VIPs.
func (s *stage) compare(want, single picture, refused, moved []string, behind tamperer) (kept []string, _ error) {
	want = want.without(refused)
	err := s.await(func() error {
		now, err := s.picture()
		if err != nil {
			return err
		}
		if err := s.ledger.check(s); err != nil {
			return err
		}
		now = now.without(refused)
		kept = now.kept(want, moved)
		adapted, wanted := now.adapted(want, single, kept)
		if d := adapted.diff(wanted); d != "" {
			return fmt.Errorf("it is not as the last requests alone would make it (-alone +now):\n%s", d)
		}
		return nil
	}, behind)
	return kept, err
}

// await waits until a check finds nothing, and whether it stays so.
func (s *stage) await(check func() error, behind tamperer) error {
	if err := s.waitFor(s.pace.patience, check); err != nil {
		return err
	}
	if err := s.sleep(s.pace.settle); err != nil {
		return err
	}
	if behind != nil {
		if err := behind(s); err != nil {
			return err
		}
	}
	if err := errors.Join(check(), errors.Join(s.ledger.violations...)); err != nil {
		return fmt.Errorf("it does not stay so: %w", err)
	}
	return nil
}

// finish deletes all Services: nothing of them may be left.
func (s *stage) finish() error {
	services, err := s.client.CoreV1().Services("").List(s.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, v := range services.Items {
		if v.Namespace == metav1.NamespaceDefault {
			continue // default/kubernetes
		}
		if err := s.client.CoreV1().Services(v.Namespace).Delete(s.ctx, v.Name, metav1.DeleteOptions{}); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return s.waitFor(s.pace.patience, func() error {
		left, err := s.picture()
		if err != nil {
			return err
		}
		if len(left) > 0 {
			return fmt.Errorf("after all Services were deleted, this is left:\n%s", picture(left).diff(picture{}))
		}
		return nil
	})
}
