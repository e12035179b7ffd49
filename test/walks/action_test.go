// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package walks_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/test/openstack"
)

// action is one step of a story: an action, and then some seconds without one. It is data, so that a story can be
// printed, stored, shortened and repeated.
type action struct {
	Do string `json:"do"`
	// On is namespace/name of a Service, the name of a Node, or what else is changed.
	On    string `json:"on,omitempty"`
	Key   string `json:"key,omitempty"`
	Value string `json:"value,omitempty"`
	// Wait is how many seconds pass after it.
	Wait int `json:"wait,omitempty"`
}

// String returns the action as JSON, in one line.
func (a action) String() string {
	text := a.Do
	for _, word := range []string{a.On, a.Key, a.Value} {
		if word != "" {
			text += " " + word
		}
	}
	return fmt.Sprintf("%s, then %d s", text, a.Wait)
}

// errNotPossible means that an action does not fit the state, such as a change of a Service that does not exist. A user
// would not do it then.
var errNotPossible = errors.New("not possible now")

// deeds are the possible actions.
var deeds = map[string]func(*stage, action) error{
	"create":           (*stage).create,
	"delete":           (*stage).deleteService,
	"copy":             (*stage).copyService,
	"strip":            edit(strip),
	"node-address":     (*stage).setNodeAddress,
	"recreate":         (*stage).recreate,
	"delete-namespace": (*stage).deleteNamespace,
	"type":             edit(setType),
	"annotate":         edit(annotate),
	"annotate-all":     edit(annotateAll),
	"open":             edit(openPort),
	"close":            edit(closePort),
	"node-port":        edit(moveNodePort),
	"affinity":         edit(setAffinity),
	"sources":          edit(setSources),
	"policy":           edit(setPolicy),
	"address":          edit(setAddress),
	"families":         edit(setFamilies),
	"node-joins":       func(s *stage, a action) error { return s.addNode(a.On) },
	"node-leaves": func(s *stage, a action) error {
		return s.client.CoreV1().Nodes().Delete(s.ctx, a.On, metav1.DeleteOptions{})
	},
	"node-excluded": (*stage).excludeNode,
	"endpoints":     (*stage).setEndpoints,
	"secret":        (*stage).setSecret,
	"start":         func(s *stage, _ action) error { return s.startProcess() },
	"stop":          func(s *stage, _ action) error { s.process.stop(); return nil },
	"kill":          func(s *stage, _ action) error { s.process.kill(); return nil },
	"configure":     (*stage).configure,
	"tamper":        (*stage).tamper,
	"tamper-group":  (*stage).tamperGroup,
	"server":        (*stage).changeServer,
	"quota":         (*stage).setQuota,
	"fault":         (*stage).setFault,
	"wait":          func(*stage, action) error { return nil },
}

// play carries out an action. An action that Kubernetes or the cloud refuses, or that does not fit, changes nothing.
func (s *stage) play(a action) (did bool, _ error) {
	do := deeds[a.Do]
	if do == nil {
		return false, fmt.Errorf("there is no deed %q", a.Do)
	}
	err := do(s, a)
	var refused apierrors.APIStatus
	var answer *openstack.StatusError
	if errors.Is(err, errNotPossible) || errors.As(err, &refused) || errors.As(err, &answer) && (answer.Status < 500 || answer.Status == http.StatusNotImplemented) {
		return false, s.sleep(time.Duration(a.Wait) * s.pace.unit)
	}
	if err != nil {
		return false, fmt.Errorf("%v: %w", a, err)
	}
	return true, s.sleep(time.Duration(a.Wait) * s.pace.unit)
}

func split(on string) (namespace, name string) {
	namespace, name, _ = strings.Cut(on, "/")
	return namespace, name
}

func (s *stage) service(on string) (*corev1.Service, error) {
	namespace, name := split(on)
	return s.client.CoreV1().Services(namespace).Get(s.ctx, name, metav1.GetOptions{})
}

// create creates a Service; Value has the words of what it is to be. If its namespace was deleted, it is made again.
func (s *stage) create(a action) error {
	namespace, name := split(a.On)
	if s.makeNamespace(namespace) != nil {
		return errNotPossible // it is still being deleted
	}
	v := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": name}}}
	if err := openPort(s, v, action{Value: "TCP/80"}); err != nil {
		return err
	}
	for _, word := range strings.Fields(a.Value) {
		var err error
		switch {
		case strings.Contains(word, "="):
			key, value, _ := strings.Cut(word, "=")
			err = annotate(s, v, action{Key: key, Value: value})
		case strings.Contains(word, "/"):
			err = openPort(s, v, action{Value: word})
		case word == "Local":
			v.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
		case word == "ClientIP":
			v.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
		case word == "ClusterIP" || word == "NodePort":
			v.Spec.Type = corev1.ServiceType(word)
		case word == "class":
			v.Spec.LoadBalancerClass = ptr.To("kube-octavia.io/octavia")
		case strings.HasSuffix(word, "Stack"):
			v.Spec.IPFamilyPolicy = ptr.To(corev1.IPFamilyPolicy(word))
		case word == string(corev1.IPv4Protocol) || word == string(corev1.IPv6Protocol):
			v.Spec.IPFamilies = append(v.Spec.IPFamilies, corev1.IPFamily(word))
		}
		if err != nil {
			return err
		}
	}
	_, err := s.client.CoreV1().Services(namespace).Create(s.ctx, v, metav1.CreateOptions{})
	if err == nil {
		s.requestedIDs[a.On] = v.Annotations[annotation.LoadBalancerID]
	}
	return err
}

func (s *stage) deleteService(a action) error {
	namespace, name := split(a.On)
	return s.client.CoreV1().Services(namespace).Delete(s.ctx, name, metav1.DeleteOptions{})
}

// recreate deletes a Service and creates it again as it was requested, as soon as its name is free.
func (s *stage) recreate(a action) error {
	old, err := s.service(a.On)
	if err != nil {
		return err
	}
	if err := s.deleteService(a); err != nil {
		return err
	}
	v := asNew(old)
	for range 10 {
		_, err = s.client.CoreV1().Services(v.Namespace).Create(s.ctx, v, metav1.CreateOptions{})
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		if err := s.sleep(s.pace.unit); err != nil {
			return err
		}
	}
	return nil
}

// asNew returns a Service as its author requests it, without what Kubernetes has chosen.
func asNew(old *corev1.Service) *corev1.Service {
	v := requested(old)
	v.Spec.ClusterIP, v.Spec.ClusterIPs, v.Spec.HealthCheckNodePort = "", nil, 0
	for i := range v.Spec.Ports {
		v.Spec.Ports[i].NodePort = 0
	}
	return v
}

// copyService creates a Service of another name from what kubectl shows of one, with all its annotations: those that its author
// set, and those that the controller wrote.
func (s *stage) copyService(a action) error {
	old, err := s.service(a.On)
	if err != nil {
		return err
	}
	v := asNew(old)
	v.Annotations = old.Annotations
	v.Namespace, v.Name = split(a.Value)
	if s.makeNamespace(v.Namespace) != nil {
		return errNotPossible // it is still being deleted
	}
	_, err = s.client.CoreV1().Services(v.Namespace).Create(s.ctx, v, metav1.CreateOptions{})
	if err == nil {
		s.requestedIDs[a.Value] = s.requestedIDs[a.On]
	}
	return err
}

// strip removes all annotations, as a tool does that replaces whole Services.
func strip(_ *stage, v *corev1.Service, _ action) error {
	v.Annotations = nil
	return nil
}

// setNodeAddress gives a Node other addresses: the words of Value.
func (s *stage) setNodeAddress(a action) error {
	n, err := s.client.CoreV1().Nodes().Get(s.ctx, a.On, metav1.GetOptions{})
	if err != nil {
		return err
	}
	n.Status.Addresses = internalAddresses(a.Value)
	_, err = s.client.CoreV1().Nodes().UpdateStatus(s.ctx, n, metav1.UpdateOptions{})
	return err
}

// deleteNamespace deletes a namespace with all that is in it.
func (s *stage) deleteNamespace(a action) error {
	return s.client.CoreV1().Namespaces().Delete(s.ctx, a.On, metav1.DeleteOptions{})
}

// edit returns an action that changes a Service.
func edit(change func(*stage, *corev1.Service, action) error) func(*stage, action) error {
	return func(s *stage, a action) error {
		for {
			v, err := s.service(a.On)
			if err != nil {
				return err
			}
			if v.DeletionTimestamp != nil {
				return errNotPossible
			}
			before := requestOfVIPs(v)
			if err := change(s, v, a); err != nil {
				return err
			}
			other := requestOfVIPs(v) != before
			_, err = s.client.CoreV1().Services(v.Namespace).Update(s.ctx, v, metav1.UpdateOptions{})
			if apierrors.IsConflict(err) {
				continue
			}
			s.moved[v.UID] = s.moved[v.UID] || err == nil && other
			if err == nil && a.Key == annotation.LoadBalancerID {
				s.requestedIDs[a.On] = v.Annotations[a.Key]
			}
			return err
		}
	}
}

func setType(_ *stage, v *corev1.Service, a action) error {
	v.Spec.Type = corev1.ServiceType(a.Value)
	if v.Spec.Type != corev1.ServiceTypeLoadBalancer {
		v.Spec.LoadBalancerSourceRanges, v.Spec.LoadBalancerIP = nil, ""
		v.Spec.LoadBalancerClass, v.Spec.AllocateLoadBalancerNodePorts = nil, nil
		v.Spec.ExternalTrafficPolicy, v.Spec.HealthCheckNodePort = "", 0
	}
	return nil
}

// absent is the value of an annotation that is removed.
const absent = "-"

func annotate(s *stage, v *corev1.Service, a action) error {
	if v.Annotations == nil {
		v.Annotations = map[string]string{}
	}
	if a.Value == absent {
		delete(v.Annotations, a.Key)
		return nil
	}
	if of, ok := strings.CutPrefix(a.Value, balancerUsedBy); ok {
		other, err := s.service(of)
		if err != nil || other.Annotations[annotation.LoadBalancerID] == "" {
			return errNotPossible
		}
		a.Value = other.Annotations[annotation.LoadBalancerID]
	}
	s.keeps = s.keeps || a.Key == annotation.KeepFloatingIP && a.Value == "true"
	s.shares = s.shares || a.Key == annotation.LoadBalancerGroup || a.Key == annotation.LoadBalancerID
	v.Annotations[a.Key] = s.resolve(a.Value)
	return nil
}

// balancerUsedBy is the id of the load balancer of the Service whose name follows.
const balancerUsedBy = "$balancer:"

// annotateAll sets several annotations at once; Value has words key=value.
func annotateAll(s *stage, v *corev1.Service, a action) error {
	for _, word := range strings.Fields(a.Value) {
		key, value, _ := strings.Cut(word, "=")
		if err := annotate(s, v, action{Key: key, Value: value}); err != nil {
			return err
		}
	}
	return nil
}

func openPort(_ *stage, v *corev1.Service, a action) error {
	protocol, number, _ := strings.Cut(a.Value, "/")
	port, err := strconv.Atoi(number)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(v.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == int32(port) && string(p.Protocol) == protocol }) {
		return errNotPossible
	}
	v.Spec.Ports = append(v.Spec.Ports, corev1.ServicePort{
		Name: strings.ToLower(protocol) + "-" + number, Protocol: corev1.Protocol(protocol), Port: int32(port), TargetPort: intstr.FromInt32(int32(port) + 8000)})
	return nil
}

func closePort(_ *stage, v *corev1.Service, a action) error {
	n := len(v.Spec.Ports)
	v.Spec.Ports = slices.DeleteFunc(v.Spec.Ports, func(p corev1.ServicePort) bool { return fmt.Sprintf("%s/%d", p.Protocol, p.Port) == a.Value })
	if len(v.Spec.Ports) == n {
		return errNotPossible
	}
	return nil
}

// moveNodePort gives the first port another NodePort.
func moveNodePort(_ *stage, v *corev1.Service, a action) error {
	if v.Spec.Ports[0].NodePort == 0 {
		return errNotPossible
	}
	port, err := strconv.Atoi(a.Value)
	v.Spec.Ports[0].NodePort = int32(port)
	return err
}

func setAffinity(_ *stage, v *corev1.Service, a action) error {
	v.Spec.SessionAffinity, v.Spec.SessionAffinityConfig = corev1.ServiceAffinity(a.Value), nil
	return nil
}

func setSources(_ *stage, v *corev1.Service, a action) error {
	if v.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return errNotPossible
	}
	v.Spec.LoadBalancerSourceRanges = strings.Fields(a.Value)
	return nil
}

func setPolicy(_ *stage, v *corev1.Service, a action) error {
	if v.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return errNotPossible
	}
	v.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicy(a.Value)
	if a.Value == "Cluster" {
		v.Spec.HealthCheckNodePort = 0
	}
	return nil
}

func setAddress(s *stage, v *corev1.Service, a action) error {
	if v.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return errNotPossible
	}
	v.Spec.LoadBalancerIP = s.resolve(a.Value)
	if a.Value == absent {
		v.Spec.LoadBalancerIP = ""
	}
	return nil
}

func (s *stage) excludeNode(a action) error {
	n, err := s.client.CoreV1().Nodes().Get(s.ctx, a.On, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	n.Labels[corev1.LabelNodeExcludeBalancers] = ""
	if a.Value == absent {
		delete(n.Labels, corev1.LabelNodeExcludeBalancers)
	}
	_, err = s.client.CoreV1().Nodes().Update(s.ctx, n, metav1.UpdateOptions{})
	return err
}

// setEndpoints makes the endpoints of a Service those on the nodes of Value: of each family that the Service has.
func (s *stage) setEndpoints(a action) error {
	v, err := s.service(a.On)
	if err != nil {
		return err
	}
	endpoints := s.client.DiscoveryV1().EndpointSlices(v.Namespace)
	for _, family := range []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol} {
		slice := endpointSlice(v, family, strings.Fields(a.Value))
		if !slices.Contains(v.Spec.IPFamilies, family) {
			err = client.IgnoreNotFound(endpoints.Delete(s.ctx, slice.Name, metav1.DeleteOptions{}))
		} else if _, err = endpoints.Create(s.ctx, slice, metav1.CreateOptions{}); apierrors.IsAlreadyExists(err) {
			_, err = endpoints.Update(s.ctx, slice, metav1.UpdateOptions{})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// endpointSlice returns the EndpointSlice of a Service that has an address of the family on each of the
// nodes.
func endpointSlice(v *corev1.Service, family corev1.IPFamily, nodes []string) *discoveryv1.EndpointSlice {
	suffix, address := "-1", "10.20.%d.%d"
	if family == corev1.IPv6Protocol {
		suffix, address = "-2", "fd00:20::%d:%d"
	}
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: v.Name + suffix, Labels: map[string]string{
		discoveryv1.LabelServiceName: v.Name, discoveryv1.LabelManagedBy: "endpointslice-controller.k8s.io"}},
		AddressType: discoveryv1.AddressType(family), Endpoints: []discoveryv1.Endpoint{}}
	for _, p := range v.Spec.Ports {
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: ptr.To(p.Name), Protocol: ptr.To(p.Protocol), Port: ptr.To(p.TargetPort.IntVal)})
	}
	for i, node := range nodes {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{fmt.Sprintf(address, 100+i, 10+i)}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)}, NodeName: ptr.To(node)})
	}
	return slice
}

// configure changes a line of cloud.conf and restarts a controller that runs, as an operator does.
func (s *stage) configure(a action) error {
	s.conf[a.Key] = a.Value
	if a.Value == absent {
		delete(s.conf, a.Key)
	}
	if a.Key == manageGroups && a.Value == "true" {
		if err := s.startServers(); err != nil {
			return err
		}
	}
	if err := s.writeConf(); err != nil {
		return err
	}
	if s.process.running() {
		s.process.stop()
		return s.startProcess()
	}
	return nil
}

// setQuota sets how many of something the project may have beyond what it has; Value - lifts the limit.
func (s *stage) setQuota(a action) error {
	if a.Value == absent {
		s.cloud.Octavia().SetQuota(s.cloud.IDs().Project, octavia.Quota{LoadBalancers: -1, Listeners: -1, Pools: -1, Members: -1, HealthMonitors: -1})
		return s.setNetworkQuota(map[string]int{"floatingip": -1, "security_group": -1, "security_group_rule": -1})
	}
	counts, err := s.counts()
	if err != nil {
		return err
	}
	q := octavia.Quota{LoadBalancers: -1, Listeners: -1, Pools: -1, Members: -1, HealthMonitors: -1}
	s.leavesPorts = s.leavesPorts || a.Key == "listeners" || a.Key == "pools" || a.Key == "members"
	switch a.Key {
	case "loadbalancers":
		q.LoadBalancers = counts["loadbalancers"]
	case "listeners":
		q.Listeners = counts["listeners"]
	case "pools":
		q.Pools = counts["pools"]
	case "members":
		q.Members = s.cloud.Octavia().Counts().Members
	case "floatingips":
		return s.setNetworkQuota(map[string]int{"floatingip": counts["floatingips"]})
	case "security-groups":
		groups, err := s.securityGroups()
		if err != nil {
			return err
		}
		return s.setNetworkQuota(map[string]int{"security_group": len(groups)})
	case "security-group-rules":
		groups, err := s.securityGroups()
		if err != nil {
			return err
		}
		rules := 0
		for _, g := range groups {
			rules += len(g.Rules)
		}
		return s.setNetworkQuota(map[string]int{"security_group_rule": rules})
	}
	s.cloud.Octavia().SetQuota(s.cloud.IDs().Project, q)
	return nil
}

func (s *stage) setNetworkQuota(quota map[string]int) error {
	return openstack.Call(s.ctx, openstack.SimulatedAdmin(s.cloud), cloudsim.Network, http.MethodPut, "/v2.0/quotas/"+s.cloud.IDs().Project,
		map[string]any{"quota": quota}, nil)
}

func (s *stage) counts() (map[string]int, error) {
	counts := map[string]int{}
	for _, what := range []string{"loadbalancers", "listeners", "pools"} {
		var list map[string][]any
		if err := s.octavia(http.MethodGet, what+"?fields=id", nil, &list); err != nil {
			return nil, err
		}
		counts[what] = len(list[what])
	}
	var list struct{ FloatingIPs []any }
	err := s.neutron(http.MethodGet, "floatingips?fields=id", nil, &list)
	counts["floatingips"] = len(list.FloatingIPs)
	return counts, err
}

// setFault makes the calls of the controller fail in a way, or all work again: Value -.
func (s *stage) setFault(a action) error {
	if a.Value == absent {
		s.cloud.Faults().Clear()
		return nil
	}
	f := wire.Fault{Service: a.On, Method: a.Key, Times: 3}
	switch a.Value {
	case "503", "500", "409", "404":
		f.Kind, f.Status = wire.FaultStatus, 503
		if a.Value != "503" {
			f.Status, _ = strconv.Atoi(a.Value)
		}
		f.Body = `{"faultstring": "a fault of the walk"}`
	default:
		f.Kind = wire.FaultKind(a.Value)
	}
	s.cloud.Faults().Add(f)
	return nil
}
