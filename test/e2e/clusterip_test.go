// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
	"github.com/kube-octavia/kube-octavia/test/kube/kubeversion"
)

// apiServer is where kube-apiserver says that it is.
const apiServer = "192.0.2.1"

// onSimulatedServiceSubnet is for tests of ClusterIPs on the simulator. There, the load balancers at ClusterIPs are only
// looked at: the addresses are those of kube-apiserver's Service range, which are not on loopback. On a real cloud,
// TestWithoutKubeProxyServicesAreReachedThroughOctavia is run.
func onSimulatedServiceSubnet(t *testing.T) {
	t.Helper()
	simulatorOnly(t, "a real Service range is in TestWithoutKubeProxyServicesAreReachedThroughOctavia")
}

// serviceSubnet creates the subnet of the ClusterIPs beside that of the nodes, behind the router: the lower half is
// the Service range, and the upper half is for the gateway and the pool.
func (s *stage) serviceSubnet(changes map[string]any) (id string) {
	s.t.Helper()
	var answer struct{ Subnet struct{ ID string } }
	wish := map[string]any{"network_id": s.cloud.IDs().PrivateNetwork, "name": "services", "ip_version": 4, "cidr": "10.96.0.0/15", "gateway_ip": "10.97.0.1", "enable_dhcp": false,
		"allocation_pools": []any{map[string]any{"start": "10.97.0.2", "end": "10.97.255.254"}}}
	for key, value := range changes {
		wish[key] = value
	}
	s.cloud.neutron(http.MethodPost, "subnets", map[string]any{"subnet": wish}, &answer)
	s.cloud.neutron(http.MethodPut, "routers/"+s.cloud.IDs().Router+"/add_router_interface", map[string]any{"subnet_id": answer.Subnet.ID}, nil)
	return answer.Subnet.ID
}

// atClusterIPs switches cluster-ip mode on for the next controller.
func (s *stage) atClusterIPs(subnetID string, lines ...string) {
	s.t.Helper()
	s.settings.conf = append([]string{"[ClusterIP]", "enabled = true", "service-subnet-id = " + subnetID}, lines...)
	s.writeFiles()
}

// clusterIPStage returns a stage in cluster-ip mode, for its own Services.
func clusterIPStage(t *testing.T, lines ...string) (s *stage, subnetID string) {
	t.Helper()
	onSimulatedServiceSubnet(t)
	s = newStage(t, settings{off: true})
	subnetID = s.serviceSubnet(nil)
	s.atClusterIPs(subnetID, append(lines, "namespaces = "+s.namespace)...)
	s.start()
	return s, subnetID
}

var toClusterIP = ofType(corev1.ServiceTypeClusterIP)

// vipAtClusterIP checks that the load balancer is at the Service's ClusterIP.
func (v *service) vipAtClusterIP(subnetID string) func(tree) error {
	return func(t tree) error {
		if want := v.now().Spec.ClusterIP; t.VIP != want || t.Subnet != subnetID {
			return fmt.Errorf("the VIP is %s in %s, want %s in %s", t.VIP, t.Subnet, want, subnetID)
		}
		return nil
	}
}

// requireUnserved fails the test if the controller has written anything to the Service, or made a load balancer for it.
func (v *service) requireUnserved() {
	v.t.Helper()
	now := v.now()
	if n := len(v.cloud.balancers(v.lbName())); n > 0 || len(now.Finalizers)+len(now.Annotations)+len(now.Status.Conditions) > 0 {
		v.t.Errorf("Service %s has %d load balancers and %v %v %+v", v.name, n, now.Finalizers, now.Annotations, now.Status.Conditions)
	}
}

func TestServicesOfTypeClusterIPHaveALoadBalancerAtTheirClusterIP(t *testing.T) {
	s, subnet := clusterIPStage(t)
	headless := s.service("headless", tcp(8080), toClusterIP, func(v *corev1.Service) { v.Spec.ClusterIP = corev1.ClusterIPNone })
	elsewhere := s.service("elsewhere", ofType(corev1.ServiceTypeExternalName), func(v *corev1.Service) { v.Spec.ExternalName = "www.example.com" })
	nodePort := s.service("nodeport", tcp(8080), ofType(corev1.ServiceTypeNodePort))
	web := s.service("web", tcp(8080), udp(5300), toClusterIP)
	for _, v := range []*service{web, nodePort} {
		v.waitForCondition(programmed, conditionTrue, "Programmed")
		v.waitForCondition(accepted, conditionTrue, "Accepted")
		v.waitForTree(all(v.vipAtClusterIP(subnet), membersAt(s.podAddresses("a", "b")...)))
		if ingress := v.now().Status.LoadBalancer.Ingress; len(ingress) > 0 {
			t.Errorf("Service %s publishes %+v", v.name, ingress)
		}
	}
	made := web.tree()
	if floating := s.cloud.floatingIPs(); len(floating) > 0 {
		t.Errorf("there are floating IPs: %+v", floating)
	}

	s.runPod("c", "a")
	web.waitForTree(membersAt(s.podAddresses("a", "b", "c")...))
	s.podIsReady("b", false)
	web.waitForTree(membersAt(s.podAddresses("a", "c")...))
	s.deletePod("a")
	web.waitForTree(membersAt(s.podAddresses("c")...))
	web.change(tcp(8081))
	web.waitForTree(all(ports("TCP/8080", "TCP/8081", "UDP/5300"), membersAt(s.podAddresses("c")...)))
	web.change(without(8080))
	web.waitForTree(ports("TCP/8081", "UDP/5300"))
	if now := web.tree(); now.ID != made.ID {
		t.Errorf("it has load balancer %s instead of %s", now.ID, made.ID)
	}
	headless.requireUnserved()
	elsewhere.requireUnserved()
	web.delete()
	web.waitUntilGone()
	if left := s.cloud.balancers(web.lbName()); len(left) > 0 {
		t.Errorf("left are %+v", left)
	}
}

func TestAServiceOfTypeLoadBalancerHasOneLoadBalancerAtItsClusterIPAndAFloatingIP(t *testing.T) {
	s, subnet := clusterIPStage(t)
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	made := web.waitForTree(all(web.vipAtClusterIP(subnet), membersAt(s.podAddresses("a", "b")...)))
	if floating := s.floatingIPOf(made); floating != address {
		t.Errorf("it publishes %s and has floating IP %s", address, floating)
	}
	s.answers(address, 8080)

	web.change(toClusterIP)
	s.eventually(func() error {
		if floating := s.cloud.floatingIPs(); len(floating) > 0 {
			return fmt.Errorf("there are floating IPs: %+v", floating)
		}
		return nil
	})
	web.waitForCondition(programmed, conditionTrue, "Programmed")
	if now := web.tree(); now.ID != made.ID || now.VIP != made.VIP {
		t.Errorf("of type ClusterIP, it has load balancer %s at %s instead of %s at %s", now.ID, now.VIP, made.ID, made.VIP)
	}
	web.change(ofType(corev1.ServiceTypeLoadBalancer))
	s.answers(web.waitUntilProgrammed(), 8080)
	given := s.cloud.makeFloatingIP("")
	s.given = append(s.given, given.Address)
	web.change(at(given.Address))
	web.waitForOtherAddress(address)
	if now := web.tree(); now.ID != made.ID || s.floatingIPOf(now) != given.Address {
		t.Errorf("it has load balancer %s with floating IP %s", now.ID, s.floatingIPOf(now))
	}
}

func TestAServiceThatIsNotSelectedAnyMoreIsReleased(t *testing.T) {
	s, subnet := clusterIPStage(t, "selector = octavia=yes")
	label := func(value string) edit {
		return func(v *corev1.Service) { metav1.SetMetaDataLabel(&v.ObjectMeta, "octavia", value) }
	}
	other := s.service("other", tcp(8080), toClusterIP)
	web := s.service("web", tcp(8080), toClusterIP, label("yes"))
	web.waitForTree(web.vipAtClusterIP(subnet))
	web.waitForCondition(programmed, conditionTrue, "Programmed")
	web.change(label("no"))
	web.waitUntilUnmarked()
	if left := s.cloud.balancers(web.lbName()); len(left) > 0 {
		t.Errorf("left are %+v", left)
	}
	web.change(label("yes"))
	web.waitForCondition(programmed, conditionTrue, "Programmed")
	s.stop()
	web.change(label("no")) // while no controller runs
	s.start()
	web.waitUntilUnmarked()
	other.requireUnserved()
}

func TestAServiceAtItsClusterIPThatChangesItsClassCanBeDeleted(t *testing.T) {
	s, _ := clusterIPStage(t)
	web := s.service("web", tcp(8080), toClusterIP)
	web.waitForCondition(programmed, conditionTrue, "Programmed")
	web.change(ofType(corev1.ServiceTypeLoadBalancer), ofClass("example.com/other"))
	web.waitUntilUnmarked()
	web.requireUnserved()
	web.delete()
	web.waitUntilGone()
}

func TestALoadBalancerAtAClusterIPIsNoOrphanThoughAnotherClientRemovesTheMarksOfItsService(t *testing.T) {
	onSimulatedServiceSubnet(t)
	s := newStage(t, settings{off: true, flags: collecting, program: yielding(time.Hour)})
	s.atClusterIPs(s.serviceSubnet(nil), "namespaces = "+s.namespace)
	s.start()
	web := s.service("web", tcp(8080), toClusterIP)
	web.waitForCondition(programmed, conditionTrue, "Programmed")
	made := web.tree()
	web.startOtherController(web.removesMarks)
	web.waitUntilStopped()
	s.waitForSweeps(3)
	if told := s.orphanEvents("OrphanFound", made.ID); len(told) > 0 {
		t.Errorf("it was called an orphan: %q", told)
	}
	if now := web.tree(); now.ID != made.ID {
		t.Errorf("the Service has load balancer %s instead of %s", now.ID, made.ID)
	}
}

func TestProblemsOfTheServiceSubnetAreReportedBeforeAnythingIsCreated(t *testing.T) {
	kubetest.NeedsVersion(t, kubeversion.HasServiceCIDR, "ServiceCIDR in API version v1, from which the Service range is read")
	onSimulatedServiceSubnet(t)
	s := newStage(t, settings{off: true})
	subnet := s.serviceSubnet(map[string]any{"gateway_ip": "10.96.0.1", "allocation_pools": []any{map[string]any{"start": "10.96.255.0", "end": "10.97.255.254"}}})
	s.atClusterIPs(subnet, "namespaces = "+s.namespace)
	s.start()
	web := s.service("web", tcp(8080), toClusterIP)
	message := web.waitForCondition(accepted, conditionFalse, "ServiceSubnetUnusable").Message
	for _, part := range []string{"gateway_ip 10.96.0.1 of subnet " + subnet + " is in the Service range 10.96.0.0/16", "allocation pool 10.96.255.0-10.97.255.254"} {
		if !strings.Contains(message, part) {
			t.Errorf("it says %q, without %q", message, part)
		}
	}
	for _, call := range s.calls() {
		if strings.HasPrefix(call, "POST") && !strings.Contains(call, "tokens") {
			t.Errorf("there was a call %s", call)
		}
	}
	web.delete()
	web.waitUntilGone()

	s.stop()
	good := s.serviceSubnet(map[string]any{"cidr": "10.100.0.0/16", "gateway_ip": "10.100.0.1", "allocation_pools": []any{}})
	s.atClusterIPs(good, "namespaces = "+s.namespace)
	s.start()
	outside := s.service("outside", tcp(8080), toClusterIP)
	if said := outside.waitForCondition(accepted, conditionFalse, "ServiceSubnetUnusable").Message; !strings.Contains(said, "10.100.0.0/16, which do not contain the Service range 10.96.0.0/16") {
		t.Errorf("it says %q", said)
	}
}

func TestAServiceIsServedSoonAfterTheServiceSubnetWasCorrected(t *testing.T) {
	kubetest.NeedsVersion(t, kubeversion.HasServiceCIDR, "ServiceCIDR in API version v1, from which the Service range is read")
	onSimulatedServiceSubnet(t)
	s := newStage(t, settings{off: true})
	subnet := s.serviceSubnet(map[string]any{"allocation_pools": []any{map[string]any{"start": "10.96.255.0", "end": "10.96.255.254"}}})
	s.atClusterIPs(subnet, "namespaces = "+s.namespace)
	s.start()
	web := s.service("web", tcp(8080), toClusterIP)
	web.waitForCondition(accepted, conditionFalse, "ServiceSubnetUnusable")
	s.cloud.neutron(http.MethodPut, "subnets/"+subnet, map[string]any{"subnet": map[string]any{"allocation_pools": []any{map[string]any{"start": "10.97.255.0", "end": "10.97.255.254"}}}}, nil)
	round := 0
	s.eventually(func() error {
		round++
		web.change(touched(fmt.Sprint(round))) // so that the controller looks at it
		if c := web.now().Status.Conditions; !slices.ContainsFunc(c, func(c metav1.Condition) bool { return c.Type == programmed && c.Status == conditionTrue }) {
			return fmt.Errorf("its conditions are %+v", c)
		}
		return nil
	})
	web.waitForTree(web.vipAtClusterIP(subnet))
}

func TestALoadBalancerAtAnotherAddressIsReplacedOnlyIfThatIsAllowed(t *testing.T) {
	onSimulatedServiceSubnet(t)
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	before := web.tree()
	s.stop()
	subnet := s.serviceSubnet(nil)
	s.atClusterIPs(subnet, "namespaces = "+s.namespace)
	s.settings.program = impatient()
	s.start()
	if said := web.waitForCondition(accepted, conditionFalse, "RequiresReplacement").Message; !strings.Contains(said, "VIP address "+web.now().Spec.ClusterIP+", the ClusterIP, instead of "+before.VIP) {
		t.Errorf("it says %q", said)
	}
	s.answers(address, 8080)
	web.change(annotated(replaceKey, "true"))
	web.waitForCondition(accepted, conditionTrue, "Accepted")
	if again := web.waitUntilProgrammed(); again != address {
		t.Errorf("it is at %s instead of %s", again, address)
	}
	after := web.waitForTree(all(web.vipAtClusterIP(subnet), membersAt(s.podAddresses("a", "b")...)))
	if after.ID == before.ID {
		t.Errorf("it is still load balancer %s", after.ID)
	}
	s.answers(address, 8080)
}

// What a Service of type LoadBalancer requested must not keep it public when it is of type ClusterIP.
func TestAServiceThatIsNoLongerOfTypeLoadBalancerIsServedAtItsClusterIPOnly(t *testing.T) {
	onSimulatedServiceSubnet(t)
	s := newStage(t, settings{program: impatient()})
	given := s.cloud.makeFloatingIP("")
	s.given = append(s.given, given.Address)
	web := s.service("web", tcp(8080), at(given.Address), annotated(floatingIPKey, given.Address))
	web.waitUntilProgrammed()
	before := web.tree()
	s.stop()
	subnet := s.serviceSubnet(nil)
	s.atClusterIPs(subnet, "namespaces = "+s.namespace)
	web.change(toClusterIP)
	s.start()
	web.waitForTree(func(now tree) error {
		if now.ID == before.ID {
			return fmt.Errorf("it is still load balancer %s", now.ID)
		}
		return all(web.vipAtClusterIP(subnet), membersAt(s.podAddresses("a", "b")...))(now)
	})
	web.waitForCondition(accepted, conditionTrue, "Accepted")
	s.eventually(func() error {
		if f := s.cloud.floatingIPs(); len(f) != 1 || f[0].PortID != "" {
			return fmt.Errorf("the floating IPs are %+v", f)
		}
		return nil
	})
}

func TestAFailedLoadBalancerAtAClusterIPIsReplacedAtTheSameAddress(t *testing.T) {
	onSimulatedServiceSubnet(t)
	s := newStage(t, settings{off: true, flags: sweeping, program: impatient()})
	subnet := s.serviceSubnet(nil)
	s.atClusterIPs(subnet, "namespaces = "+s.namespace)
	s.start()
	inside, outside := s.service("inside", tcp(8080), toClusterIP), s.service("outside", tcp(8081))
	address := outside.waitUntilProgrammed()
	inside.waitForCondition(programmed, conditionTrue, "Programmed")
	// For a new Service, this subnet would be refused.
	s.stop()
	s.cloud.neutron(http.MethodPut, "subnets/"+subnet, map[string]any{"subnet": map[string]any{"allocation_pools": []any{map[string]any{"start": "10.96.255.0", "end": "10.96.255.254"}}}}, nil)
	s.start()
	for _, v := range []*service{inside, outside} {
		before := v.tree()
		s.cloud.fail(before.ID)
		v.waitForTree(func(now tree) error {
			if now.ID == before.ID {
				return fmt.Errorf("it is still load balancer %s", now.ID)
			}
			return all(v.vipAtClusterIP(subnet), membersAt(s.podAddresses("a", "b")...))(now)
		})
		v.waitForCondition(programmed, conditionTrue, "Programmed")
	}
	if again := outside.waitUntilProgrammed(); again != address {
		t.Errorf("it is at %s instead of %s", again, address)
	}
	s.answers(address, 8081)
}

func TestAServiceAtItsClusterIPCannotShareALoadBalancer(t *testing.T) {
	s, _ := clusterIPStage(t, "selector = !outside")
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	other := s.service("other", tcp(8081), annotated(idKey, web.tree().ID))
	if said := other.waitForCondition(accepted, conditionFalse, "SharingRefused").Message; !strings.Contains(said, "requires its ClusterIP "+other.now().Spec.ClusterIP) {
		t.Errorf("it says %q", said)
	}
	outside := s.service("outside", tcp(8082), annotated(idKey, web.tree().ID), func(v *corev1.Service) { metav1.SetMetaDataLabel(&v.ObjectMeta, "outside", "yes") })
	if said := outside.waitForCondition(programmed, conditionFalse, "NotOwned").Message; !strings.Contains(said, "its VIP is the ClusterIP of another Service") {
		t.Errorf("it says %q", said)
	}
}

func TestDualStackServicesHaveBothClusterIPs(t *testing.T) {
	onSimulatedServiceSubnet(t)
	s := newStage(t, settings{off: true})
	var network struct{ Network struct{ ID string } }
	s.cloud.neutron(http.MethodPost, "networks", map[string]any{"network": map[string]any{"name": "services"}}, &network)
	first := s.serviceSubnet(map[string]any{"network_id": network.Network.ID})
	second := s.serviceSubnet(map[string]any{"network_id": network.Network.ID, "ip_version": 6, "cidr": "fd00:10:96::/64", "gateway_ip": "fd00:10:96::1:0:1",
		"allocation_pools": []any{map[string]any{"start": "fd00:10:96::1:0:2", "end": "fd00:10:96::1:0:ffff"}}})
	s.atClusterIPs(first, "namespaces = "+s.namespace)
	s.start()
	both := s.service("both", tcp(8080), toClusterIP, stack(requiresBoth))
	both.waitForCondition(programmed, conditionTrue, "Programmed")
	have := both.waitForTree(both.vipAtClusterIP(first))
	if len(have.Additional) != 1 || have.Additional[0].Subnet != second || have.Additional[0].Address != both.now().Spec.ClusterIPs[1] {
		t.Errorf("the additional VIPs are %+v", have.Additional)
	}
}

func TestTheSubnetOfTheSecondClusterIPIsCheckedToo(t *testing.T) {
	kubetest.NeedsVersion(t, kubeversion.HasServiceCIDR, "ServiceCIDR in API version v1, from which the Service range is read")
	s, _ := clusterIPStage(t)
	one := s.service("one", tcp(8080), toClusterIP, stack(prefersBoth)) // there is an IPv6 subnet, but not of the ClusterIPs
	message := one.waitForCondition(accepted, conditionFalse, "ServiceSubnetUnusable").Message
	if ip := one.now().Spec.ClusterIPs[1]; !strings.Contains(message, "fd00:10:96::/112") || !parseAddr(t, ip).Is6() {
		t.Errorf("for %s it says %q", ip, message)
	}
}

// servedAPIService returns the Service of the API servers with its load balancer.
func servedAPIService(t *testing.T) (*stage, *service, tree) {
	t.Helper()
	onSimulatedServiceSubnet(t)
	s := newStage(t, settings{off: true})
	subnet := s.serviceSubnet(nil)
	s.atClusterIPs(subnet, "namespaces = "+metav1.NamespaceDefault, "selector = component=apiserver,!unserved")
	s.start()
	api := s.apiService()
	api.waitForCondition(programmed, conditionTrue, "Programmed")
	return s, api, api.waitForTree(all(api.vipAtClusterIP(subnet), membersAt(apiServer)))
}

func TestTheServiceOfTheAPIServerKeepsItsLoadBalancerWhenItIsDeleted(t *testing.T) {
	s, api, made := servedAPIService(t)
	s.resetCalls()
	for name, remove := range map[string]func(){
		"while the controller runs": api.delete,
		"while it does not run":     func() { s.stop(); api.delete(); s.start() },
	} {
		before := api.now().UID
		remove()
		s.eventually(func() error { // kube-apiserver makes it again, at the same address
			again, err := s.client.CoreV1().Services(metav1.NamespaceDefault).Get(t.Context(), "kubernetes", metav1.GetOptions{})
			if err == nil && again.UID == before {
				err = fmt.Errorf("it is still there")
			}
			return err
		})
		api.waitForCondition(programmed, conditionTrue, "Programmed")
		if again := api.waitForTree(membersAt(apiServer)); again.ID != made.ID || api.now().Annotations[idKey] != made.ID {
			t.Errorf("deleted %s, it has load balancer %s instead of %s", name, again.ID, made.ID)
		}
	}
	if writes := s.writes(); len(writes) > 0 {
		t.Errorf("this changed the cloud: %v", writes)
	}
	api.change(func(v *corev1.Service) { metav1.SetMetaDataLabel(&v.ObjectMeta, "unserved", "") })
	api.waitUntilUnmarked()
	if left := s.cloud.balancers(api.lbName()); len(left) > 0 {
		t.Errorf("left are %+v", left)
	}
}

func TestTheServiceOfTheAPIServerIsServedAndKeepsItsMarks(t *testing.T) {
	s, api, made := servedAPIService(t)
	if len(made.Listeners) != 1 || made.Listeners[0].Port != 443 || made.Listeners[0].Pool.Members[0].Port == 443 {
		t.Errorf("its listeners are %+v", made.Listeners)
	}
	marked := api.now()

	// What kube-apiserver reconciles comes back, and the rest stays.
	slicesOfAPI := s.client.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault)
	if err := slicesOfAPI.Delete(t.Context(), "kubernetes", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	api.waitForTree(membersAt())
	api.waitForTree(membersAt(apiServer))
	now := api.now()
	if !slices.Equal(now.Finalizers, marked.Finalizers) || now.Annotations[managedKey] != marked.Annotations[managedKey] || now.UID != marked.UID {
		t.Errorf("the marks were %v %v and are %v %v", marked.Finalizers, marked.Annotations, now.Finalizers, now.Annotations)
	}
	if again := api.tree(); again.ID != made.ID {
		t.Errorf("it has load balancer %s instead of %s", again.ID, made.ID)
	}

	api.change(func(v *corev1.Service) { metav1.SetMetaDataLabel(&v.ObjectMeta, "unserved", "") })
	api.waitUntilUnmarked()
}
