// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package walks_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgo "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// plain is a story in which nothing goes wrong.
var plain = story{
	{Do: "create", On: "shop/web", Value: "TCP/443", Wait: 120},
	{Do: "create", On: "blog/web", Value: internalKey + "=true", Wait: 120},
}

// atWeb returns a tampering with the objects of shop/web.
func atWeb(name string) tamperer {
	return func(s *stage) error {
		b, err := s.find("shop/web")
		if err != nil {
			return err
		}
		return tamperings[name](s, b)
	}
}

// TestOracleFindsEachChangeOfTheResult shows that a walk can fail. The controller does not run when the objects are
// changed, so it does not repair them.
func TestOracleFindsEachChangeOfTheResult(t *testing.T) {
	patch := func(kind types.PatchType, text string, sub ...string) tamperer {
		return func(s *stage) error {
			_, err := s.client.CoreV1().Services("shop").Patch(s.ctx, "web", kind, []byte(text), metav1.PatchOptions{}, sub...)
			return err
		}
	}
	onOthers := func(begin string, do func(s *stage, what string) error) tamperer {
		return func(s *stage) error {
			for what := range s.others {
				if strings.HasPrefix(what, begin) {
					return do(s, what)
				}
			}
			return errNotPossible
		}
	}
	for name, test := range map[string]struct {
		behind tamperer
		want   string
	}{
		"nothing":                   {nil, ""},
		"load balancer deleted":     {atWeb("delete"), "load balancer of <shop/web>"},
		"load balancer in ERROR":    {atWeb("error"), "ERROR"},
		"load balancer disabled":    {atWeb("disable"), "load balancer of <shop/web>"},
		"port closed":               {atWeb("listener-deleted"), "load balancer of <shop/web>, port"},
		"port opened":               {atWeb("listener-added"), "TCP/9999"},
		"source ranges changed":     {atWeb("listener-changed"), "198.51.100.0/24"},
		"pool deleted":              {atWeb("pool-deleted"), "load balancer of <shop/web>"},
		"balancing method changed":  {atWeb("pool-changed"), "LEAST_CONNECTIONS"},
		"members removed":           {atWeb("members-emptied"), "members"},
		"member added":              {atWeb("member-added"), "10.20.0.99"},
		"weight changed":            {atWeb("member-weight"), "weight"},
		"monitor added":             {atWeb("monitor-added"), "monitor"},
		"floating IP detached":      {atWeb("floating-ip-detached"), "floating IP at nowhere"},
		"floating IP deleted":       {atWeb("floating-ip-deleted"), "has lost it"},
		"finalizer removed":         {patch(types.MergePatchType, `{"metadata":{"finalizers":[]}}`), "finalizers"},
		"finalizer added":           {patch(types.MergePatchType, `{"metadata":{"finalizers":["service.kubernetes.io/load-balancer-cleanup","example.com/other"]}}`), "example.com/other"},
		"another address published": {patch(types.MergePatchType, `{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}}`, "status"), "unknown address 192.0.2.1"},
		"no address published":      {patch(types.MergePatchType, `{"status":{"loadBalancer":null}}`, "status"), "published"},
		"condition changed":         {patch(types.MergePatchType, `{"status":{"conditions":null}}`, "status"), "kube-octavia.io/Programmed=True"},
		"load balancer of no Service": {func(s *stage) error {
			return s.octavia(http.MethodPost, "loadbalancers", map[string]any{"loadbalancer": map[string]any{"name": "left", "vip_subnet_id": s.symbols["$subnet"]}}, nil)
		}, "load balancer of no Service"},
		"floating IP of no Service": {func(s *stage) error {
			return s.neutron(http.MethodPost, "floatingips", map[string]any{"floatingip": map[string]any{"floating_network_id": s.symbols["$public"]}}, nil)
		}, "floating IP at nowhere"},
		"another cluster's load balancer changed": {onOthers("loadbalancers/", func(s *stage, what string) error {
			return s.put(what, "loadbalancer", map[string]any{"description": "changed"})
		}), "objects of others were changed"},
		"another cluster's floating IP deleted": {onOthers("floatingips/", func(s *stage, what string) error {
			return s.neutron(http.MethodDelete, what, nil, nil)
		}), "objects of others were changed"},
	} {
		t.Run(name, func(t *testing.T) {
			requireOracleFinds(t, plain, test.behind, test.want)
		})
	}
}

// TestOracleFindsNeedlessWrites is the same for what the controller writes to Services: here the test writes in its place.
func TestOracleFindsNeedlessWrites(t *testing.T) {
	write := func(text func(v *corev1.Service) string) tamperer {
		return func(s *stage) error {
			v, err := s.service("shop/web")
			if err != nil {
				return err
			}
			controllers, err := clientgo.NewForConfig(&rest.Config{Host: s.server, Dial: s.process.(*inside).dial().Dial})
			if err != nil {
				return err
			}
			_, err = controllers.CoreV1().Services("shop").Patch(s.ctx, "web", types.MergePatchType, []byte(text(v)), metav1.PatchOptions{}, "status")
			return err
		}
	}
	patch := func(v *corev1.Service, change string) string {
		return fmt.Sprintf(`{"metadata":{"resourceVersion":%q},"status":%s}`, v.ResourceVersion, change)
	}
	for name, test := range map[string]struct {
		behind tamperer
		want   string
	}{
		"what is there": {write(func(v *corev1.Service) string {
			text, err := json.Marshal(v.Status)
			if err != nil {
				panic(err) // it was JSON
			}
			return patch(v, string(text))
		}), "the controller wrote what changes nothing: PATCH /api/v1/namespaces/shop/services/web/status"},
		"nothing":             {write(func(v *corev1.Service) string { return patch(v, "{}") }), "the controller wrote what changes nothing"},
		"without the version": {write(func(*corev1.Service) string { return `{"status":{"conditions":null}}` }), "without the version that it changes"},
	} {
		t.Run(name, func(t *testing.T) {
			requireOracleFinds(t, plain, test.behind, test.want)
		})
	}
}

// TestOracleFindsAnotherCertificate is the same for a Service that ends TLS with the certificate of a Secret.
func TestOracleFindsAnotherCertificate(t *testing.T) {
	ends := story{
		{Do: "create", On: "shop/web", Value: annotation.TLSSecret + "=certificate", Wait: 120},
		{Do: "secret", On: "shop/certificate", Value: "b", Wait: 120},
	}
	for name, test := range map[string]struct {
		behind tamperer
		want   string
	}{
		"nothing": {nil, ""},
		"another certificate by hand": {func(s *stage) error {
			b, err := s.find("shop/web")
			if err != nil {
				return err
			}
			return s.put("listeners/"+b.Listeners[0], "listener", map[string]any{"default_tls_container_ref": s.symbols["$certificate-b"]})
		}, "$certificate-b"},
		"secret of no Service": {func(s *stage) error {
			return s.barbican(http.MethodPost, "secrets", map[string]any{"name": "left"}, nil)
		}, "secret left"},
	} {
		t.Run(name, func(t *testing.T) {
			requireOracleFinds(t, ends, test.behind, test.want)
		})
	}
}

// TestOracleFindsALostAddressThatShouldBeKept is the same for the address of a Service that is gone and requested that it stays.
func TestOracleFindsALostAddressThatShouldBeKept(t *testing.T) {
	keeps := story{
		{Do: "create", On: "shop/web", Value: annotation.KeepFloatingIP + "=true", Wait: 120},
		// The ledger may have seen the Service for the first time when it had its address. Then the address counts only after
		// nothing has changed for the time that the pace has for that.
		{Do: "wait", Wait: int((virtual.settle + time.Minute).Seconds())},
		{Do: "delete", On: "shop/web", Wait: 120},
	}
	requireOracleFinds(t, keeps, nil, "")
	requireOracleFinds(t, keeps, func(s *stage) error {
		for _, id := range s.ledger.kept {
			if err := s.neutron(http.MethodDelete, "floatingips/"+id, nil, nil); err != nil {
				return err
			}
		}
		return nil
	}, "was to be kept")
}

// requireOracleFinds plays the story, stops the controller and tampers behind its back. The walk must end with an error that
// contains want, or without an error if want is empty.
func requireOracleFinds(t *testing.T, st story, behind tamperer, want string) {
	t.Helper()
	stopped := behind
	if behind != nil {
		stopped = func(s *stage) error {
			s.process.stop()
			return behind(s)
		}
	}
	_, err := walkInMemory(t, versions{}, st, stopped)
	switch {
	case want == "" && err != nil:
		t.Errorf("nothing was changed, and the walk fails: %v", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("the walk ends with %v; want an error with %q", err, want)
	}
}

// shares is a story in which two Services share a load balancer.
var shares = story{
	{Do: "create", On: "shop/web", Value: group + "=a", Wait: 120},
	{Do: "create", On: "shop/api", Value: group + "=a TCP/443", Wait: 120},
	{Do: "close", On: "shop/api", Value: "TCP/80", Wait: 120},
}

// TestOracleFindsMistakesOnASharedLoadBalancer is the same for Services that share.
func TestOracleFindsMistakesOnASharedLoadBalancer(t *testing.T) {
	api := func(text string) tamperer {
		return func(s *stage) error {
			_, err := s.client.CoreV1().Services("shop").Patch(s.ctx, "api", types.MergePatchType, []byte(text), metav1.PatchOptions{}, "status")
			return err
		}
	}
	for name, test := range map[string]struct {
		behind tamperer
		want   string
	}{
		"nothing":                  {nil, ""},
		"load balancer deleted":    {atWeb("delete"), "PENDING_DELETE"},
		"load balancer in ERROR":   {atWeb("error"), "does not work"},
		"load balancer disabled":   {atWeb("disable"), "does not work"},
		"port closed":              {atWeb("listener-deleted"), "is not as without sharing"},
		"port opened":              {atWeb("listener-added"), "TCP/9999 is there"},
		"source ranges changed":    {atWeb("listener-changed"), "198.51.100.0/24"},
		"balancing method changed": {atWeb("pool-changed"), "LEAST_CONNECTIONS"},
		"member added":             {atWeb("member-added"), "10.20.0.99"},
		"weight changed":           {atWeb("member-weight"), "weight"},
		"floating IP detached":     {atWeb("floating-ip-detached"), "no Service uses floating IP at nowhere"},
		"floating IP deleted":      {atWeb("floating-ip-deleted"), "of Service shop/api was published and is still requested"},
		"no address published":     {api(`{"status":{"loadBalancer":null}}`), "Service shop/api does not say"},
		"refused for nothing":      {api(`{"status":{"conditions":[{"type":"kube-octavia.io/Accepted","status":"False","reason":"PortInUse"}]}}`), "no other Service uses them"},
		"load balancer of no Service": {func(s *stage) error {
			return s.octavia(http.MethodPost, "loadbalancers", map[string]any{"loadbalancer": map[string]any{"name": "left", "vip_subnet_id": s.symbols["$subnet"]}}, nil)
		}, "no Service uses load balancer of no Service"},
	} {
		t.Run(name, func(t *testing.T) {
			requireOracleFinds(t, shares, test.behind, test.want)
		})
	}
}

// dualStack is a story with two Services of both families, of which one is changed to one family.
var dualStack = story{
	{Do: "create", On: "shop/web", Value: "UDP/53 PreferDualStack", Wait: 120},
	{Do: "create", On: "blog/web", Value: "PreferDualStack", Wait: 120},
	{Do: "families", On: "blog/web", Value: "SingleStack", Wait: 120},
}

// TestOracleFindsMistakesInDualStackServices is the same for Services with both IP families.
func TestOracleFindsMistakesInDualStackServices(t *testing.T) {
	status := func(namespace, text string) tamperer {
		return func(s *stage) error {
			_, err := s.client.CoreV1().Services(namespace).Patch(s.ctx, "web", types.MergePatchType, []byte(text), metav1.PatchOptions{}, "status")
			return err
		}
	}
	for name, test := range map[string]struct {
		behind tamperer
		want   string
	}{
		"nothing":                                {nil, ""},
		"members removed":                        {atWeb("members-emptied"), "members"},
		"second address not published":           {status("shop", `{"status":{"loadBalancer":{"ingress":[{"ip":"203.0.113.9"}]}}}`), "published second VIP of load balancer of <shop/web>"},
		"VIP too many, and no condition says so": {status("blog", `{"status":{"conditions":null}}`), "kube-octavia.io/Programmed=True"},
		"VIP too many, and it is published":      {status("blog", `{"status":{"loadBalancer":{"ingress":[{"ip":"fd00:20::1"}]}}}`), "published"},
		"VIP too many, and a port is open": {func(s *stage) error {
			b, err := s.find("blog/web")
			if err != nil {
				return err
			}
			return tamperings["listener-added"](s, b)
		}, "TCP/9999"},
	} {
		t.Run(name, func(t *testing.T) {
			requireOracleFinds(t, dualStack, test.behind, test.want)
		})
	}
}

// TestOnlyServicesThatKeepTheirVIPsAreComparedDifferently shows it with pictures.
func TestOnlyServicesThatKeepTheirVIPsAreComparedDifferently(t *testing.T) {
	const (
		balancer = "load balancer of <shop/web>"
		service  = "Service shop/web"
		one      = `{"additional_vips":[],"vip_subnet_id":"$subnet"}`
		both     = `{"additional_vips":[{"subnet_id":"$subnet-v6"}],"vip_subnet_id":"$subnet"}`
		another  = `{"additional_vips":[],"vip_subnet_id":"$subnet-v6"}`
		accepted = "kube-octavia.io/Accepted=True Accepted"
		lacks    = "kube-octavia.io/Accepted=False SingleStackLoadBalancer"
		keeps    = "kube-octavia.io/Accepted=False AdditionalVIPKept"
		refused  = "kube-octavia.io/Accepted=False RequiresReplacement"
	)
	of := func(vips, says string) picture { return picture{balancer: vips, service: says} }
	moved := []string{"shop/web"}
	for name, test := range map[string]struct {
		now, want, single picture
		moved             []string
		same              bool
	}{
		"as requested":                               {of(both, accepted), of(both, accepted), nil, nil, true},
		"never changed, a VIP is missing":            {of(one, lacks), of(both, accepted), of(one, accepted), nil, false},
		"a VIP is missing":                           {of(one, lacks), of(both, accepted), of(one, accepted), moved, true},
		"a VIP is missing, and no condition says so": {of(one, accepted), of(both, accepted), of(one, accepted), moved, false},
		"a VIP is missing, published is more":        {of(one, lacks+"\npublished x"), of(both, accepted+"\npublished x"), of(one, accepted), moved, false},
		"never changed, a VIP too many":              {of(both, keeps), of(one, accepted), of(one, accepted), nil, false},
		"a VIP too many":                             {of(both, keeps), of(one, accepted), of(one, accepted), moved, true},
		"a VIP too many, published is more":          {of(both, keeps+"\npublished x"), of(one, accepted), of(one, accepted), moved, false},
		"refused":                                    {of(one, refused), of(both, accepted), of(one, accepted), moved, true},
		"a subnet that was requested":                {of(another, accepted), of(one, accepted), of(one, accepted), moved, true},
		"not in the requested subnet":                {of(one, accepted), of(another, accepted), of(another, accepted), moved, false},
		"says that a VIP is missing":                 {of(both, lacks), of(both, accepted), of(one, accepted), moved, false},
	} {
		t.Run(name, func(t *testing.T) {
			now, want := test.now.adapted(test.want, test.single, test.now.kept(test.want, test.moved))
			if d := now.diff(want); (d == "") != test.same {
				t.Errorf("they differ by %q; want none: %v", d, test.same)
			}
		})
	}
}

// TestOnlyServicesThatCannotBeReplacedKeepTheirFlavors shows it with pictures. It is from a walk: a Service gave a port, and then it
// requested a flavor and allowed a replacement.
func TestOnlyServicesThatCannotBeReplacedKeepTheirFlavors(t *testing.T) {
	const (
		balancer = "load balancer of <shop/web>"
		service  = "Service shop/web"
		accepted = "kube-octavia.io/Accepted=True Accepted"
		refused  = "kube-octavia.io/Accepted=False RequiresReplacement"
		at, none = " at port $port-shop-web", ""
	)
	of := func(flavor, says, port string) picture {
		return picture{balancer: `{"admin_state_up":true,"flavor_id":` + flavor + `}` + port, service: says}
	}
	for name, test := range map[string]struct {
		now, want picture
		same      bool
	}{
		"as requested":                            {of(`"$flavor-a"`, accepted, at), of(`"$flavor-a"`, accepted, at), true},
		"refused, at the given port":              {of("null", refused, at), of(`"$flavor-a"`, accepted, at), true},
		"at the given port, no condition says so": {of("null", accepted, at), of(`"$flavor-a"`, accepted, at), false},
		"refused, no port is given":               {of("null", refused, none), of(`"$flavor-a"`, accepted, none), false},
		"refused, at another port":                {of("null", refused, " at port $port-blog-web"), of(`"$flavor-a"`, accepted, at), false},
		"refused, though it is as requested":      {of("null", refused, at), of("null", accepted, at), false},
	} {
		t.Run(name, func(t *testing.T) {
			now, want := test.now.adapted(test.want, nil, test.now.kept(test.want, nil))
			if d := now.diff(want); (d == "") != test.same {
				t.Errorf("they differ by %q; want none: %v", d, test.same)
			}
		})
	}
}

// TestOracleFindsAnInternalServiceThatIsReachableFromOutside shows it with pictures.
func TestOracleFindsAnInternalServiceThatIsReachableFromOutside(t *testing.T) {
	const web, api = "load balancer of <shop/web>", "load balancer of <shop/api>"
	const works = `"provisioning_status":"ACTIVE" "admin_state_up":true`
	port := `{"tags":["kube-octavia.service=<shop/api>"]}`
	id := annotation.LoadBalancerID + "="
	want := picture{"Service shop/api": id + api, "Service shop/web": id + web, api: works, web: works, api + ", port TCP/443": port}
	now := picture{"Service shop/api": id + web, "Service shop/web": id + web, web: works, web + ", port TCP/443": port}
	for _, floating := range []bool{false, true} {
		if floating {
			now["floating IP at "+web], want["floating IP at "+web] = "", ""
		}
		j := newSharedJudge(now, want, map[string]string{"shop/api": "a", "shop/web": "a"}, nil)
		j.judge()
		if faults := strings.Join(j.faults, "\n"); strings.Contains(faults, "which is internal") != floating || !floating && faults != "" {
			t.Errorf("with a floating IP %v, the faults are %q", floating, faults)
		}
	}
}

// TestOracleFindsObjectsThatAreLeftWhenAllServicesAreDeleted does so at the very end.
func TestOracleFindsObjectsThatAreLeftWhenAllServicesAreDeleted(t *testing.T) {
	_, err := walkInMemory(t, versions{}, append(plain, action{Do: "wait"}), func(s *stage) error {
		// The controller does not remove a finalizer that it does not know, and no other client removes it.
		_, err := s.client.CoreV1().Services("shop").Create(s.ctx, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "stays", Finalizers: []string{"example.com/other"}},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}, metav1.CreateOptions{})
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "Service shop/stays") {
		t.Errorf("the walk ends with %v; want what is left", err)
	}
}

// managed is a story in which the controller manages the security groups of the nodes.
var managed = append(story{{Do: "configure", Key: manageGroups, Value: "true"}}, plain...)

// TestOracleFindsMistakesInTheSecurityGroupsOfNodes is the same for the security groups of the nodes.
func TestOracleFindsMistakesInTheSecurityGroupsOfNodes(t *testing.T) {
	onGroup := func(name string) tamperer {
		return func(s *stage) error { return s.tamperGroup(action{Value: name}) }
	}
	makeGroup := func(name func(ours securityGroup) string) tamperer {
		return func(s *stage) error {
			groups, err := s.ownGroups()
			if err != nil {
				return err
			}
			return s.neutron(http.MethodPost, "security-groups", map[string]any{"security_group": map[string]any{"name": name(groups[0])}}, nil)
		}
	}
	for name, test := range map[string]struct {
		behind tamperer
		want   string
	}{
		"nothing":                    {nil, ""},
		"group deleted":              {onGroup("group-deleted"), "security group of the nodes"},
		"group taken off a port":     {onGroup("group-detached"), "port of the server of node-1"},
		"rule removed":               {onGroup("rule-deleted"), "of <"},
		"rule added":                 {onGroup("rule-added"), "rule ingress tcp 22-22"},
		"rule of another form added": {onGroup("rule-of-any-form-added"), "rule egress"},
		"second group":               {makeGroup(func(ours securityGroup) string { return ours.Name }), "security group of the nodes #2"},
		"group of no Service": {makeGroup(func(securityGroup) string {
			return "left"
		}), "security group left"},
		"security group of a user removed from a port": {func(s *stage) error {
			groups, err := s.ownGroups()
			if err != nil {
				return err
			}
			ports, err := s.portsWith(groups[0].ID)
			if err != nil {
				return err
			}
			return s.takeOff(ports[0], s.group(byHand))
		}, "port of the server of node-1"},
		"another cluster's group changed": {func(s *stage) error {
			return s.addRule(s.group(groupOfOthers), 23)
		}, "objects of others were changed"},
		"another cluster's port changed": {func(s *stage) error {
			for what := range s.others {
				if id, ok := strings.CutPrefix(what, "ports/"); ok {
					return s.setGroups(id, []string{s.group(byHand)})
				}
			}
			return errNotPossible
		}, "objects of others were changed"},
	} {
		t.Run(name, func(t *testing.T) {
			requireOracleFinds(t, managed, test.behind, test.want)
		})
	}
}
