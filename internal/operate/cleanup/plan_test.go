// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kube-octavia/kube-octavia/internal/cloud/neutron"
	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/securitygroup"
	"github.com/kube-octavia/kube-octavia/internal/node/routes"
)

const uidOfService = "0f8fad5b-d9cb-469f-a165-70867728950e"

// owner returns a Service of a cluster.
func owner(cluster, uid, name string) lb.Owner {
	return lb.Owner{ClusterName: cluster, ClusterUID: uid, Namespace: "shop", Name: name, ServiceUID: uidOfService}
}

// ownerWith returns a Service of cluster prod with the uid.
func ownerWith(serviceUID string) lb.Owner {
	return lb.Owner{ClusterName: "prod", ClusterUID: "uid-1", Namespace: "shop", Name: serviceUID, ServiceUID: serviceUID}
}

// ofOCCM returns the load balancer that openstack-cloud-controller-manager creates for the owner.
func ofOCCM(o lb.Owner, id string, edits ...func(*lb.LoadBalancer)) octavia.Listed {
	l := lb.LoadBalancer{ID: id, Name: o.LoadBalancerName(), Description: o.Description(), Tags: []string{o.LoadBalancerName()},
		VIP: lb.VIP{PortID: "vip-" + id}, ProvisioningStatus: lb.Active}
	for _, edit := range edits {
		edit(&l)
	}
	return octavia.Listed{Bare: l, Complete: true}
}

// ofOurs returns the load balancer that kube-octavia creates for the owner.
func ofOurs(o lb.Owner, id string, edits ...func(*lb.LoadBalancer)) octavia.Listed {
	return ofOCCM(o, id, append([]func(*lb.LoadBalancer){func(l *lb.LoadBalancer) { l.Tags = o.Tags() }}, edits...)...)
}

func in(status lb.ProvisioningStatus) func(*lb.LoadBalancer) {
	return func(l *lb.LoadBalancer) { l.ProvisioningStatus = status }
}

func tagged(tags ...string) func(*lb.LoadBalancer) {
	return func(l *lb.LoadBalancer) { l.Tags = append(l.Tags, tags...) }
}

// listening adds a listener with the tags of the owner.
func listening(id string, tags ...string) func(*lb.LoadBalancer) {
	return func(l *lb.LoadBalancer) {
		l.Listeners = append(l.Listeners, lb.Listener{ID: id, Port: 80 + len(l.Listeners), Protocol: lb.ListenerTCP, Tags: tags, Pool: &lb.Pool{ID: "pool-" + id, Tags: tags}})
	}
}

// ofOCCMFloatingIP returns the description that openstack-cloud-controller-manager gives to a
// floating IP.
func ofOCCMFloatingIP(cluster, name string) string {
	return "Floating IP for Kubernetes external service shop/" + name + " from cluster " + cluster
}

// fates returns what happens to each object.
func fates(p Plan) map[string]string {
	all := map[string]string{}
	for _, o := range p.Objects {
		text := o.fate()
		for _, s := range o.steps {
			switch op := s.(type) {
			case fmt.Stringer:
				text += "; " + op.String()
			case portDeletion:
				text += "; delete port " + op.id
			case routeDeletion:
				text += "; remove route " + op.Destination
			}
		}
		all[o.ID] = strings.TrimPrefix(text, "- ")
	}
	return all
}

func TestObjectsAreRecognizedByUIDOrElseByNameAndDescription(t *testing.T) {
	ours, occm := owner("prod", "uid-1", "web"), owner("prod", "", "old")
	other, namesake := owner("test", "uid-2", "web"), owner("prod", "uid-9", "web")
	person := octavia.Listed{Complete: true, Bare: lb.LoadBalancer{ID: "mine", Name: "mine", ProvisioningStatus: lb.Active}}
	for name, c := range map[string]struct {
		cluster lb.Cluster
		all     Inventory
		keepIPs bool
		deleted map[string]bool
		spared  map[string]string
		class   string
		want    map[string]string
	}{
		"both kinds of load balancers, those of others untouched": {
			cluster: lb.Cluster{Name: "prod", UID: "uid-1"},
			all:     Inventory{LoadBalancers: []octavia.Listed{ofOurs(ours, "a"), ofOCCM(occm, "b"), ofOurs(other, "c"), ofOCCM(owner("prod_eu", "", "x"), "d"), person}},
			want:    map[string]string{"a": "delete; delete load balancer a and its children", "b": "delete; delete load balancer b and its children"},
		},
		"routes": {
			cluster: lb.Cluster{UID: "uid-1"},
			all: Inventory{Routes: []routes.Left{
				{Route: routes.Route{Destination: "10.244.1.0/24", NextHop: "10.0.0.11"}}, {Route: routes.Route{Destination: "10.244.2.0/24", NextHop: "10.0.0.12"}, Keep: "of others"},
			}},
			want: map[string]string{
				"destination=10.244.1.0/24,gateway=10.0.0.11": "delete; remove route 10.244.1.0/24", "destination=10.244.2.0/24,gateway=10.0.0.12": "kept: of others",
			},
		},
		"a uid only": {
			cluster: lb.Cluster{UID: "uid-1"},
			all:     Inventory{LoadBalancers: []octavia.Listed{ofOurs(ours, "a"), ofOCCM(occm, "b")}},
			want:    map[string]string{"a": "delete; delete load balancer a and its children"},
		},
		"a cluster that was renamed to another name keeps what has the old description": {
			cluster: lb.Cluster{Name: "prod"},
			all: Inventory{LoadBalancers: []octavia.Listed{ofOCCM(occm, "a", func(l *lb.LoadBalancer) {
				l.Name = owner("new", "", "old").LoadBalancerName()
			})}},
			want: map[string]string{},
		},
		"another cluster with the same name": {
			cluster: lb.Cluster{Name: "prod", UID: "uid-1"},
			all: Inventory{LoadBalancers: []octavia.Listed{ofOurs(ours, "a"), ofOurs(namesake, "n"), ofOCCM(occm, "b")},
				SecurityGroups: []securitygroup.Group{{ID: "g", Name: occm.SecurityGroupName(), Description: occm.SecurityGroupDescription()}},
			},
			want: map[string]string{
				"a": "delete; delete load balancer a and its children",
				"b": "kept: it has no cluster uid, and another cluster (uid uid-9) has the name prod, too",
				// its Service is known from load balancer a
				"g": "delete; delete security group lb-sg-0f8fad5b-d9cb-469f-a165-70867728950e-shop-old (g)",
			},
		},
		"PENDING, in ERROR, incomplete": {
			cluster: lb.Cluster{UID: "uid-1"},
			all: Inventory{LoadBalancers: []octavia.Listed{
				ofOurs(ours, "p", in(lb.PendingUpdate)), ofOurs(ours, "e", in(lb.Error)), {Bare: ofOurs(ours, "i").Bare},
			}},
			want: map[string]string{
				"p": "delete later: Octavia is working on it: PENDING_UPDATE", "e": "delete; delete load balancer e and its children", "i": "delete later: it changed while it was read",
			},
		},
		"used by another cluster": {
			cluster: lb.Cluster{Name: "prod", UID: "uid-1"},
			all: Inventory{LoadBalancers: []octavia.Listed{
				ofOurs(ours, "a", tagged("kube_service_test_shop_api")), ofOurs(owner("prod", "uid-1", "x"), "b", listening("l", other.Tags()...)),
			}},
			want: map[string]string{
				"a": `kept: a Service of another cluster uses it, according to its tag "kube_service_test_shop_api"`,
				"b": "kept: its listener l was created for another cluster (uid uid-2)",
			},
		},
		"ports on a load balancer that was created by hand": {
			cluster: lb.Cluster{Name: "prod", UID: "uid-1"},
			all: Inventory{LoadBalancers: []octavia.Listed{{Complete: true, Bare: func() lb.LoadBalancer {
				l := lb.LoadBalancer{ID: "mine", Name: "mine", ProvisioningStatus: lb.Active}
				listening("theirs")(&l)
				listening("ours", ours.Tags()...)(&l)
				return l
			}()}}},
			want: map[string]string{"mine": "delete; close port TCP/81 (listener ours)"},
		},
		"floating IPs": {
			cluster: lb.Cluster{Name: "prod", UID: "uid-1"},
			all: Inventory{
				LoadBalancers: []octavia.Listed{ofOurs(ours, "a")},
				FloatingIPs: []lb.FloatingIP{
					{ID: "own", Address: "203.0.113.1", PortID: "vip-a", Description: ours.FloatingIPDescription()},
					{ID: "left", Address: "203.0.113.2", Description: ours.FloatingIPDescription()},
					{ID: "kept", Address: "203.0.113.3", Description: ours.KeptFloatingIPDescription()},
					{ID: "user", Address: "203.0.113.4", PortID: "vip-a"},
					{ID: "occm", Address: "203.0.113.5", Description: ofOCCMFloatingIP("prod", "old")},
					{ID: "server", Address: "203.0.113.6", PortID: "server", Description: ours.FloatingIPDescription()},
					{ID: "other", Address: "203.0.113.7", Description: other.FloatingIPDescription()},
					{ID: "occm-other", Address: "203.0.113.8", Description: ofOCCMFloatingIP("prod2", "old")},
				},
			},
			want: map[string]string{
				"a":      "delete later: its floating IPs and security groups are deleted first",
				"own":    "delete; delete floating IP 203.0.113.1",
				"left":   "delete; delete floating IP 203.0.113.2",
				"occm":   "kept: it is attached to nothing and has no uid: its Service may have kept it (keep-floatingip)",
				"server": "kept: it is attached to port server, which is not that of a load balancer of the cluster",
			},
		},
		"floating IPs that are to be kept": {
			cluster: lb.Cluster{UID: "uid-1"}, keepIPs: true,
			all: Inventory{
				LoadBalancers: []octavia.Listed{ofOurs(ours, "a")},
				FloatingIPs:   []lb.FloatingIP{{ID: "own", Address: "203.0.113.1", PortID: "vip-a", Description: ours.FloatingIPDescription()}},
			},
			want: map[string]string{"a": "delete later: its floating IPs and security groups are deleted first", "own": "detach, and keep it in the project; detach floating IP 203.0.113.1 and keep it"},
		},
		"security groups": {
			cluster: lb.Cluster{Name: "prod", UID: "uid-1"},
			all: Inventory{
				SecurityGroups: []securitygroup.Group{
					{ID: "nodes", Name: lb.NodesGroup{ClusterUID: "uid-1", Class: "x"}.Name()},
					{ID: "service", Name: occm.SecurityGroupName(), Description: occm.SecurityGroupDescription()},
					{ID: "other", Name: other.SecurityGroupName(), Description: other.SecurityGroupDescription()},
					{ID: "default", Name: "default"},
				},
				GroupPorts: []securitygroup.Port{{ID: "p", Groups: []string{"default", "nodes"}}},
			},
			want: map[string]string{
				"nodes":   "delete; take the security group off port p of server ; delete security group kube-octavia-nodes-uid-1-x (nodes)",
				"service": "delete; delete security group lb-sg-0f8fad5b-d9cb-469f-a165-70867728950e-shop-old (service)",
			},
		},
		"Services for which another controller is responsible, and one that cannot be released": {
			cluster: lb.Cluster{UID: "uid-1"}, class: "x", spared: map[string]string{"theirs": "", "stuck": "it is stuck"},
			all: Inventory{
				LoadBalancers: []octavia.Listed{
					ofOurs(ours, "a"), ofOurs(ownerWith("theirs"), "t", listening("l", ours.Tags()...)), ofOurs(ownerWith("stuck"), "s"),
					ofOurs(ours, "b", listening("m", ownerWith("theirs").Tags()...)),
				},
				FloatingIPs: []lb.FloatingIP{
					{ID: "f-a", Address: "203.0.113.1", PortID: "vip-a", Description: ours.FloatingIPDescription()},
					{ID: "f-t", Address: "203.0.113.2", PortID: "vip-t", Description: ownerWith("theirs").FloatingIPDescription()},
					{ID: "f-s", Address: "203.0.113.3", PortID: "vip-s", Description: ownerWith("stuck").FloatingIPDescription()},
					{ID: "o-t", Address: "203.0.113.4", PortID: "vip-t", Description: ofOCCMFloatingIP("prod", "web")},
				},
				SecurityGroups: []securitygroup.Group{
					{ID: "ours", Name: lb.NodesGroup{ClusterUID: "uid-1", Class: "x"}.Name()},
					{ID: "theirs", Name: lb.NodesGroup{ClusterUID: "uid-1", Class: "y"}.Name()},
				},
				Certificates: []lb.Certificate{
					{Name: ours.CertificateName(strings.Repeat("a", 64)), Ref: "https://barbican/v1/secrets/" + uidOfService},
					{Name: ownerWith("theirs").CertificateName(strings.Repeat("b", 64)), Ref: "https://barbican/v1/secrets/0f8fad5b-d9cb-469f-a165-70867728950f"},
					{Name: ownerWith("stuck").CertificateName(strings.Repeat("c", 64)), Ref: "https://barbican/v1/secrets/0f8fad5b-d9cb-469f-a165-708677289510"},
				},
			},
			want: map[string]string{
				"a": "delete later: its floating IPs and security groups are deleted first", "f-a": "delete; delete floating IP 203.0.113.1",
				"b": "kept: the Service with the uid theirs has ports on it",
				"s": "kept: it is stuck", "f-s": "kept: it is stuck", "t": "delete; close port TCP/80 (listener l)",
				"ours":       "delete; delete security group kube-octavia-nodes-uid-1-x (ours)",
				uidOfService: "delete", "0f8fad5b-d9cb-469f-a165-708677289510": "kept: it is stuck",
			},
		},
		"certificates and ports that Octavia left": {
			cluster: lb.Cluster{UID: "uid-1"}, deleted: map[string]bool{"gone": true},
			all: Inventory{
				Certificates: []lb.Certificate{{Name: ours.CertificateName(strings.Repeat("a", 64)), Ref: "https://barbican/v1/secrets/" + uidOfService}},
				Ports:        []neutron.VIPPort{{ID: "p", LoadBalancerID: "gone"}, {ID: "q", LoadBalancerID: "unknown"}},
			},
			want: map[string]string{uidOfService: "delete", "p": "delete; delete port p"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := fates(NewPlan(Options{Cluster: c.cluster, KeepFloatingIPs: c.keepIPs, Deleted: c.deleted, Spared: c.spared, Class: c.class}, c.all))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestObjectsWithUIDsNeedTheUID(t *testing.T) {
	ours := owner("prod", "uid-1", "web")
	balancer := Inventory{LoadBalancers: []octavia.Listed{ofOurs(ours, "a")}}
	group := lb.NodesGroup{ClusterName: "prod", ClusterUID: "uid-1", Class: "x"}
	for name, c := range map[string]struct {
		cluster lb.Cluster
		all     Inventory
		fails   string
	}{
		"the uid of a load balancer":                   {cluster: lb.Cluster{Name: "prod"}, all: balancer, fails: "add --cluster-uid=uid-1"},
		"the uid of a floating IP":                     {cluster: lb.Cluster{Name: "prod"}, all: Inventory{FloatingIPs: []lb.FloatingIP{{Description: ours.FloatingIPDescription()}}}, fails: "add --cluster-uid=uid-1"},
		"the uid of a security group":                  {cluster: lb.Cluster{Name: "prod"}, all: Inventory{SecurityGroups: []securitygroup.Group{{Name: group.Name(), Description: group.Description()}}}, fails: "add --cluster-uid=uid-1"},
		"a uid of another cluster":                     {cluster: lb.Cluster{Name: "test"}, all: balancer},
		"only the uid":                                 {cluster: lb.Cluster{UID: "uid-1"}, all: balancer},
		"both":                                         {cluster: lb.Cluster{Name: "prod", UID: "uid-1"}, all: balancer},
		"a name and a uid that do not belong together": {cluster: lb.Cluster{Name: "test", UID: "uid-1"}, all: balancer, fails: "named prod, not test"},
		"nothing left":                                 {cluster: lb.Cluster{Name: "prod"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := Check(c.cluster, c.all)
			if c.fails == "" && err != nil || c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
				t.Errorf("error %v, want %q", err, c.fails)
			}
		})
	}
}

// TestALoadBalancerThatStaysOnlyLosesPorts checks that no step deletes what is kept according to
// the plan.
func TestALoadBalancerThatStaysOnlyLosesPorts(t *testing.T) {
	ours := owner("prod", "uid-1", "web")
	for name, c := range map[string]struct {
		cluster lb.Cluster
		all     []octavia.Listed
	}{
		"with the uids of two clusters": {lb.Cluster{UID: "uid-1"}, []octavia.Listed{ofOurs(ours, "a", tagged("kube-octavia.cluster=uid-2"), listening("l", ours.Tags()...))}},
		"without a uid, of one of two clusters with the name": {lb.Cluster{Name: "prod", UID: "uid-1"}, []octavia.Listed{
			ofOCCM(owner("prod", "", "web"), "a", listening("l", ours.Tags()...)), ofOurs(owner("prod", "uid-9", "web"), "n"),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			kept := false
			for _, o := range NewPlan(Options{Cluster: c.cluster}, Inventory{LoadBalancers: c.all}).Objects {
				kept = kept || o.ID == "a" && o.Keep != ""
				for _, s := range o.steps {
					if _, whole := s.(diff.DeleteLoadBalancer); whole {
						t.Errorf("%+v", s)
					}
				}
			}
			if !kept {
				t.Error("it is not shown as kept")
			}
		})
	}
}

// TestObjectsOfOtherClustersAreNeverDeleted cleans up one of two clusters with random objects, which may have the same names.
func TestObjectsOfOtherClustersAreNeverDeleted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SampledFrom([]string{"prod", "prod_eu", "test"})
		lost, alive := lb.Cluster{Name: names.Draw(t, "lost"), UID: "uid-1"}, lb.Cluster{Name: names.Draw(t, "alive"), UID: "uid-2"}
		var all Inventory
		theirs := map[string]bool{}
		add := func(c lb.Cluster, i int) {
			id := fmt.Sprintf("%s-%d", c.UID, i)
			o := owner(c.Name, c.UID, rapid.SampledFrom([]string{"web", "api"}).Draw(t, "service"))
			all.LoadBalancers = append(all.LoadBalancers, ofOurs(o, id, listening("l-"+id, o.Tags()...)))
			all.FloatingIPs = append(all.FloatingIPs, lb.FloatingIP{ID: "f-" + id, PortID: rapid.SampledFrom([]string{"", "vip-" + id}).Draw(t, "port"), Description: o.FloatingIPDescription()})
			all.SecurityGroups = append(all.SecurityGroups, securitygroup.Group{ID: "g-" + id, Name: lb.NodesGroup{ClusterUID: c.UID, Class: "x"}.Name()})
			if c == alive {
				for _, id := range []string{id, "f-" + id, "g-" + id, "l-" + id, "pool-l-" + id} {
					theirs[id] = true
				}
			}
		}
		for i := range rapid.IntRange(0, 3).Draw(t, "objects of the lost cluster") {
			add(lost, i)
		}
		for i := range rapid.IntRange(1, 3).Draw(t, "objects of the other") {
			add(alive, i)
		}
		given := lost
		if rapid.Bool().Draw(t, "without a name") {
			given.Name = ""
		}
		for _, o := range NewPlan(Options{Cluster: given}, all).Objects {
			if theirs[o.ID] {
				t.Fatalf("%s %s of the other cluster is in the plan: %s", o.Kind, o.ID, o.fate())
			}
			if o.Keep == "" && o.Waits == "" && len(o.steps) == 0 {
				t.Fatalf("nothing happens to %s %s", o.Kind, o.ID)
			}
		}
	})
}

func TestThePlanIsPrintedAsATreeOfServices(t *testing.T) {
	ours := owner("prod", "uid-1", "web")
	plan := NewPlan(Options{Cluster: lb.Cluster{Name: "prod", UID: "uid-1"}}, Inventory{
		LoadBalancers:  []octavia.Listed{ofOurs(ours, "a", in(lb.PendingUpdate))},
		FloatingIPs:    []lb.FloatingIP{{ID: "f", Address: "203.0.113.1", PortID: "vip-a", Description: ours.FloatingIPDescription()}},
		SecurityGroups: []securitygroup.Group{{ID: "g", Name: lb.NodesGroup{ClusterUID: "uid-1", Class: "x"}.Name()}},
		Routes:         []routes.Left{{Route: routes.Route{Destination: "10.244.1.0/24", NextHop: "10.0.0.11"}, PortID: "p"}},
	})
	var b strings.Builder
	if err := plan.Print(&b); err != nil {
		t.Fatal(err)
	}
	want := `Cluster prod, uid uid-1
To delete: 1 load balancer, 1 floating IP, 1 security group, 1 route. Kept: 0.

(for all Services, or unknown)
  ├─ security group kube-octavia-nodes-uid-1-x (g) - delete
  └─ route left at port p (destination=10.244.1.0/24,gateway=10.0.0.11) - delete
shop/web
  ├─ floating IP 203.0.113.1 (f) - delete
  └─ load balancer kube_service_prod_shop_web (a) PENDING_UPDATE - delete later: Octavia is working on it: PENDING_UPDATE
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

// TestALoadBalancerIsDeletedAsAWhole checks that its listeners are not deleted one by one.
func TestALoadBalancerIsDeletedAsAWhole(t *testing.T) {
	ours := owner("prod", "uid-1", "web")
	plan := NewPlan(Options{Cluster: lb.Cluster{UID: "uid-1"}}, Inventory{LoadBalancers: []octavia.Listed{ofOurs(ours, "a", listening("l", ours.Tags()...))}})
	if len(plan.Objects) != 1 || !slices.Equal(plan.Objects[0].steps, []step{diff.DeleteLoadBalancer{ID: "a"}}) {
		t.Errorf("%+v", plan.Objects)
	}
}

func TestInvalidClusterUIDIsAnErrorAndAnUnusedOneAWarning(t *testing.T) {
	const there, other = "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "1b4e28ba-2fa1-11d2-883f-0016d3cca427"
	project := Inventory{
		LoadBalancers:  []octavia.Listed{ofOurs(owner("prod", there, "web"), "l-1")},
		SecurityGroups: []securitygroup.Group{{ID: "g-1", Name: "nodes", Description: lb.NodesGroup{ClusterName: "dev", ClusterUID: "a-uid", Class: "c"}.Description()}},
	}
	const list = "the project has objects of clusters with these uids: " + there + ", a-uid"
	for name, test := range map[string]struct {
		cluster      lb.Cluster
		all          Inventory
		fails, doubt string
	}{
		"a uid with objects":               {lb.Cluster{UID: there}, project, "", ""},
		"a name alone":                     {lb.Cluster{Name: "none"}, project, "", ""},
		"no uid":                           {lb.Cluster{UID: "foo"}, project, "--cluster-uid foo: no object of the project has it, and it is not a uid such as 1b4e28ba-2fa1-11d2-883f-0016d3cca427; " + list, "-"},
		"no uid, in an empty project":      {lb.Cluster{UID: "foo"}, Inventory{}, "no object of the project has the uid of a cluster", "-"},
		"no uid, with a name":              {lb.Cluster{UID: "foo", Name: "none"}, project, "it is not a uid", "-"},
		"a uid of nothing":                 {lb.Cluster{UID: other}, project, "", "Warning: no object of the project has --cluster-uid " + other + ". The cluster left nothing, or the uid is wrong; " + list + "."},
		"a uid of nothing, with a name":    {lb.Cluster{UID: other, Name: "none"}, project, "", "the uid is wrong"},
		"a uid of nothing, nothing at all": {lb.Cluster{UID: other}, Inventory{}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			plan, got := NewPlan(Options{Cluster: test.cluster}, test.all), ""
			if err := plan.CheckFound(); err != nil {
				got = err.Error()
			}
			if test.fails == "" && got != "" || !strings.Contains(got, test.fails) {
				t.Errorf("it fails with %q, want %q", got, test.fails)
			}
			doubt := plan.Doubt()
			if test.doubt == "" && doubt != "" || test.doubt != "-" && !strings.Contains(doubt, test.doubt) {
				t.Errorf("the doubt is %q, want %q", doubt, test.doubt)
			}
		})
	}
}
