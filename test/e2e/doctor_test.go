// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	gophercloudopenstack "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	authenticationv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/internal/cloud/calls"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/command/cli"
	"github.com/kube-octavia/kube-octavia/internal/operate/doctor"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
	"github.com/kube-octavia/kube-octavia/test/deploy"
	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
	openstacktest "github.com/kube-octavia/kube-octavia/test/openstack"
)

// patient is a setup that doctor checks: a correct one, until a test makes a mistake in it.
type patient struct {
	*stage
	t testing.TB
	// conf is cloud.conf, and kubeconfig the way to the cluster.
	conf       string
	kubeconfig string
	// args are flags of doctor besides the usual ones.
	args []string
	// web is a Service with a load balancer, and rule the id of the rule that lets its traffic reach the nodes.
	web  *service
	rule string
	// excused is the number of findings about objects that existed in a real cloud before the test.
	excused int
}

// newPatient sets up what is right: an application credential without access rules, a rule of the nodes' security group
// that lets in everything, and a Service with a load balancer, whose controller has ended.
func newPatient(t *testing.T) *patient {
	t.Helper()
	p := patientOf(newStage(t, settings{off: true, podless: true}))
	if *stateDir == "" { // on a real cloud others use the same security group
		p.openNodes()
	}
	p.start()
	p.serve()
	return p
}

// patientOf makes a patient of a stage whose controller does not run yet.
func patientOf(s *stage) *patient {
	s.t.Helper()
	s.deleteLease()
	p := &patient{stage: s, t: s.t, kubeconfig: s.adminKubeconfig()}
	p.conf = p.applicationCredential("doctor", nil)
	s.t.Cleanup(s.writeFiles)
	return p
}

// serve lets the controller serve a Service, and ends it.
func (p *patient) serve() {
	p.t.Helper()
	p.web = p.service("web", tcp(8080))
	p.web.waitUntilProgrammed()
	p.endpointByHand(p.web)
	p.web.waitUntilServing()
	p.stop()
	p.controller = nil
}

// endpointByHand gives the Service a ready endpoint, on a stage without Pods.
func (p *patient) endpointByHand(v *service) {
	p.t.Helper()
	endpoints := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: v.name + "-by-hand", Labels: map[string]string{discoveryv1.LabelServiceName: v.name}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: &v.now().Spec.Ports[0].Name, Port: ptr.To[int32](9999), Protocol: ptr.To(corev1.ProtocolTCP)}},
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.250.0.1"}}},
	}
	if _, err := p.client.DiscoveryV1().EndpointSlices(p.namespace).Create(p.t.Context(), endpoints, metav1.CreateOptions{}); err != nil {
		p.t.Fatal(err)
	}
}

// openNodes adds the rule to the security group of the nodes.
func (p *patient) openNodes() {
	p.t.Helper()
	var answer struct {
		Rule struct{ ID string } `json:"security_group_rule"`
	}
	p.cloud.neutron(http.MethodPost, "security-group-rules", map[string]any{"security_group_rule": map[string]any{
		"security_group_id": p.portOf("a").Groups[0], "direction": "ingress", "ethertype": "IPv4"}}, &answer)
	p.rule = answer.Rule.ID
}

// applicationCredential makes one with the rules, nil for none, and returns a cloud.conf with it.
func (p *patient) applicationCredential(name string, rules []applicationcredentials.AccessRule) string {
	p.t.Helper()
	keystone, userID := p.keystone()
	wish := applicationcredentials.CreateOpts{Name: p.namespace + "-" + name, AccessRules: rules}
	made, err := applicationcredentials.Create(p.t.Context(), keystone, userID, wish).Extract()
	if err != nil {
		p.t.Fatal(err)
	}
	p.forget(made.ID)
	return p.confOf(made.ID, config.Secret(made.Secret))
}

// keystone returns a client of Keystone for the controller's user, and the id of the user.
func (p *patient) keystone() (client *gophercloud.ServiceClient, userID string) {
	p.t.Helper()
	user := p.cloud.Credentials()
	ctx := context.WithoutCancel(p.t.Context())
	provider, err := gophercloudopenstack.AuthenticatedClient(ctx, gophercloud.AuthOptions{IdentityEndpoint: strings.TrimSuffix(user.AuthURL, "/v3") + "/v3",
		Username: user.Username, Password: user.Password, DomainName: user.UserDomainName, TenantID: user.ProjectID})
	if err != nil {
		p.t.Fatal(err)
	}
	client, err = gophercloudopenstack.NewIdentityV3(provider, gophercloud.EndpointOpts{})
	if err != nil {
		p.t.Fatal(err)
	}
	token, ok := provider.GetAuthResult().(tokens.CreateResult)
	if !ok {
		p.t.Fatalf("the login is %T", provider.GetAuthResult())
	}
	who, err := token.ExtractUser()
	if err != nil {
		p.t.Fatal(err)
	}
	return client, who.ID
}

// forget deletes an application credential at the end of the test: a real cloud stays.
func (p *patient) forget(id string) {
	p.t.Cleanup(func() {
		keystone, userID := p.keystone()
		if err := applicationcredentials.Delete(context.WithoutCancel(p.t.Context()), keystone, userID, id).ExtractErr(); err != nil {
			p.t.Error(err)
		}
	})
}

// expiring creates an application credential with the access rules of the controller but those of features, and returns
// a cloud.conf with it.
func (p *patient) expiring(name string, expires time.Time, without ...calls.Feature) string {
	p.t.Helper()
	conf, err := config.Parse("cloud.conf", []byte(p.cloud.PasswordConf()))
	if err != nil {
		p.t.Fatal(err)
	}
	session, err := openstack.Connect(p.t.Context(), openstack.Options{Config: conf.Global})
	if err != nil {
		p.t.Fatal(err)
	}
	defer session.Close()
	made, err := session.CreateApplicationCredential(p.t.Context(), openstack.ApplicationCredential{Name: p.namespace + "-" + name, Expires: expires, Without: without})
	if err != nil {
		p.t.Fatal(err)
	}
	p.forget(made.ID)
	return p.confOf(made.ID, made.Secret)
}

// confOf returns a cloud.conf with the application credential.
func (p *patient) confOf(id string, secret config.Secret) string {
	p.t.Helper()
	text := p.cloud.PasswordConf()
	conf, err := config.Parse("cloud.conf", []byte(text))
	if err != nil {
		p.t.Fatal(err)
	}
	text, err = config.WithGlobal([]byte(text), conf.Global.WithApplicationCredential(id, secret))
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.Join(p.settings.conf, "\n") + "\n" + text
}

// examine runs `kube-octavia doctor` and returns what it prints.
func (p *patient) examine(conf string, args ...string) (status int, out, errs string) {
	p.t.Helper()
	if err := os.WriteFile(p.cloudConf(), []byte(conf), 0o600); err != nil {
		p.t.Fatal(err)
	}
	var stdout, stderr log
	p.shows("the output of doctor", &stdout)
	p.shows("what doctor says", &stderr)
	args = append([]string{"doctor", "--cloud-config=" + p.cloudConf(), "--kubeconfig=" + p.kubeconfig, "--leader-elect-resource-namespace=" + p.namespace}, slices.Concat(p.args, args)...)
	status = cli.Run(p.t.Context(), args, cli.IO{Out: &stdout, Err: &stderr}, cli.Options{Version: "test"})
	return status, stdout.String(), stderr.String()
}

// report runs `kube-octavia doctor -o json`. It leaves out findings about objects that a real cloud had before the test:
// what other tests, or Octavia, left there is not this test's. All other findings count.
func (p *patient) report(conf string) (report doctor.Report, status int) {
	p.t.Helper()
	status, out, errs := p.examine(conf, "-o", "json")
	if err := json.Unmarshal([]byte(out), &report); err != nil || errs != "" {
		p.t.Fatalf("status %d: %v in:\n%s%s", status, err, out, errs)
	}
	if failed := status == 1; failed != report.Failed() {
		p.t.Errorf("status %d with %d errors", status, report.Counts[doctor.Error])
	}
	status = 0
	for i := range report.Checks {
		r := &report.Checks[i]
		found := len(r.Findings)
		r.Findings = slices.DeleteFunc(r.Findings, p.isAboutEarlier)
		p.excused += found - len(r.Findings)
		if r.Conclude(); r.Status == doctor.Error {
			status = 1
		}
	}
	return report, status
}

// isAboutEarlier reports whether the finding names an object that the cloud had before the test.
func (p *patient) isAboutEarlier(f doctor.Finding) bool {
	for id := range p.cloud.earlier {
		if strings.Contains(f.What, id) {
			p.t.Logf("left by others: %s", f.What)
			return true
		}
	}
	return false
}

// checksOfNodes are skipped without the controllers of Nodes and routes.
var checksOfNodes = []doctor.Check{doctor.Nodes, doctor.Routes}

// in adds lines to section [LoadBalancer], which is the last one. A later line counts.
func (p *patient) in(lines ...string) string { return p.conf + strings.Join(lines, "\n") + "\n" }

func TestDoctorFindsNoProblemInACorrectSetupAndWritesNothing(t *testing.T) {
	p := newPatient(t)
	if status, _, _ := p.examine(p.conf, "--checks=clock"); status != 0 { // the client learns what the API has
		t.Errorf("status %d", status)
	}
	p.resetCalls()
	report, status := p.report(p.conf)
	for _, r := range report.Checks {
		want := doctor.OK
		if slices.Contains(checksOfNodes, r.Check) {
			want = doctor.Skipped
		}
		if r.Status != want {
			t.Errorf("check %s is %s: %s, %+v", r.Check, r.Status, r.SkippedBecause, r.Findings)
		}
	}
	if status != 0 || len(report.Checks) != len(doctor.Names()) {
		t.Errorf("status %d, %d checks", status, len(report.Checks))
	}
	if writes := p.writes(); len(writes) > 0 {
		t.Errorf("the cloud was written to: %v", writes)
	}
	const most = 20
	if made := p.cloud.Recorder().Calls(); len(made) > most {
		t.Errorf("%d calls, and at most %d are necessary", len(made), most)
	} else {
		t.Logf("%d calls", len(made))
	}
	status, out, errs := p.examine(p.conf, "--all")
	if p.excused == 0 && (status != 0 || !strings.Contains(out, "\n17 checks: 15 ok, 0 with warnings")) || errs != "" || !strings.Contains(out, "Seen: network: http://127.0.0.1:") {
		t.Errorf("status %d:\n%s%s", status, out, errs)
	}
	t.Log(out)
}

// Cloud returns the simulator.
func (c *cloud) Cloud() *cloudsim.Cloud { return c.backend.(simulated).Cloud }

// The Job of deploy/doctor has the arguments, the rights and the credential of the controller in the cluster.
func TestDoctorRunsInTheClusterAsTheControllerDoes(t *testing.T) {
	p := newPatient(t)
	text, err := os.ReadFile("../../deploy/doctor/cronjob.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cron batchv1.CronJob
	if err := yaml.UnmarshalStrict(text, &cron); err != nil {
		t.Fatal(err)
	}
	pod := cron.Spec.JobTemplate.Spec.Template.Spec
	args := slices.Clone(pod.Containers[0].Args)
	file := pod.Containers[0].VolumeMounts[0].MountPath + "/cloud.conf"
	if i := slices.Index(args, "--cloud-config="+file); i < 0 || pod.ServiceAccountName != deploy.Name || args[0] != "doctor" {
		t.Fatalf("it runs %v as %s, and cloud.conf is %s", args, pod.ServiceAccountName, file)
	}
	p.kubeconfig = p.stage.kubeconfig() // of this ServiceAccount
	status, out, errs := p.examine(p.conf, slices.DeleteFunc(args[1:], func(a string) bool { return strings.HasPrefix(a, "--cloud-config=") })...)
	if status != 0 || errs != "" || !strings.Contains(out, " 0 with errors, 0 unknown, 2 skipped") {
		t.Errorf("status %d:\n%s%s", status, out, errs)
	}
}

// With the credential of the controller, whose access rules allow only what the controller does, checks are unknown and
// say how to check by hand; nothing counts as an error.
func TestDoctorReportsWhatAccessRulesKeepItFromReading(t *testing.T) {
	p := newPatient(t)
	report, status := p.report(p.expiring("restricted", time.Time{}))
	want := map[doctor.Check]string{doctor.Quotas: "openstack quota show"}
	for _, r := range report.Checks {
		do, unknown := want[r.Check]
		switch {
		case slices.Contains(checksOfNodes, r.Check) && r.Status == doctor.Skipped:
		case !unknown && r.Status != doctor.OK:
			t.Errorf("check %s is %s: %+v", r.Check, r.Status, r.Findings)
		case unknown && (r.Status != doctor.Unknown || !slices.ContainsFunc(r.Findings, func(f doctor.Finding) bool {
			return strings.Contains(f.What, "access rules") && strings.Contains(f.Do, do)
		})):
			t.Errorf("check %s is %s: %+v", r.Check, r.Status, r.Findings)
		}
	}
	if status != 0 {
		t.Errorf("status %d", status)
	}
}

func TestDoctorWorksWithoutACloudOrACluster(t *testing.T) {
	skipOnRealOpenStack(t, "it reaches no cloud")
	p := newPatient(t)
	nowhere := strings.ReplaceAll(p.conf, p.cloud.AuthURL(), "http://127.0.0.1:1")
	status, out, errs := p.examine(nowhere)
	if status != 1 || errs != "" || !strings.Contains(out, "ERROR  credentials") || !strings.Contains(out, "Nothing listens there") || !strings.Contains(out, "ok     kubernetes") {
		t.Errorf("status %d without a cloud:\n%s%s", status, out, errs)
	}
	status, out, _ = p.examine("[Global]\nauth-ulr=x\n")
	if status != 1 || !strings.Contains(out, "auth-ulr") || !strings.Contains(out, "-      networks") || !strings.Contains(out, "ok     kubernetes") {
		t.Errorf("status %d with a wrong cloud.conf:\n%s", status, out)
	}
	p.kubeconfig = ""
	t.Setenv("KUBECONFIG", "")
	t.Setenv("HOME", t.TempDir())
	status, out, _ = p.examine(p.conf)
	if status != 0 || !strings.Contains(out, "-      kubernetes         skipped: no cluster") || !strings.Contains(out, "ok     networks") {
		t.Errorf("status %d without a cluster:\n%s", status, out)
	}
	p.kubeconfig = filepath.Join(t.TempDir(), "missing")
	if status, out, _ = p.examine(p.conf); status != 1 || !strings.Contains(out, "ERROR  kubernetes") || !strings.Contains(out, "Do: Set --kubeconfig") {
		t.Errorf("status %d with a kubeconfig that does not exist:\n%s", status, out)
	}
}

// mistake is one mistake in a right setup. make makes it and returns cloud.conf; what it changes elsewhere it takes back at
// the end of the subtest.
type mistake struct {
	name   string
	make   func(*patient) string
	check  doctor.Check
	status doctor.Status
	// what is a part of what was found, and do a part of what to do.
	what, do string
	// unknown are checks that cannot be made then.
	unknown []doctor.Check
	// simulated says why it is made on the simulator only.
	simulated string
	// alone is whether other checks find more on a real cloud: provider ovn lacks features, or it is of another project.
	alone bool
}

func TestDoctorFindsEachMistakeInTheSetup(t *testing.T) {
	skipOnRealOpenStack(t, "test/doctor meets each of them on a real cloud")
	requireFound(t, newPatient(t), slices.Concat(mistakesInCloudConf, mistakesInTheCloud, mistakesOfCredentials, mistakesInTheCluster))
}

// requireFound makes each mistake, and requires that it is found, and nothing else.
func requireFound(t *testing.T, p *patient, mistakes []mistake) {
	t.Helper()
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			if m.simulated != "" {
				simulatorOnly(t, m.simulated)
			}
			own := *p
			own.t = t
			report, status := own.report(m.make(&own))
			for _, r := range report.Checks {
				for _, f := range r.Findings {
					t.Logf("%s: %s: %s; do: %s", f.Status, r.Check, f.What, f.Do)
				}
				alone := *stateDir != "" && m.alone
				if r.Check != m.check && !alone && r.Status != doctor.OK && r.Status != doctor.Skipped && !slices.Contains(m.unknown, r.Check) {
					t.Errorf("check %s is %s: %+v", r.Check, r.Status, r.Findings)
				}
				if r.Check == m.check && (r.Status != m.status || !slices.ContainsFunc(r.Findings, func(f doctor.Finding) bool {
					return f.Status == m.status && strings.Contains(f.What, m.what) && strings.Contains(f.Do, m.do)
				})) {
					t.Errorf("check %s is %s, and does not say %q and to do %q: %+v", r.Check, r.Status, m.what, m.do, r.Findings)
				}
			}
			if failed := status == 1; failed != (m.status == doctor.Error) {
				t.Errorf("exit status %d", status)
			}
		})
	}
}

// lines makes a mistake in [LoadBalancer].
func lines(of func(cloudsim.IDs) string) func(*patient) string {
	return func(p *patient) string { return p.in(of(p.cloud.IDs())) }
}

const unusedID = "3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04"

var mistakesInCloudConf = []mistake{
	{name: "a subnet that does not exist", check: doctor.Networks, status: doctor.Error, what: "subnet-id is " + unusedID, do: "openstack subnet list",
		unknown: []doctor.Check{doctor.SecurityGroups}, make: lines(func(cloudsim.IDs) string { return "subnet-id=" + unusedID })},
	{name: "a subnet of another network", check: doctor.Networks, status: doctor.Error, what: "and not in network-id", do: "Remove one of the keys",
		make: lines(func(ids cloudsim.IDs) string { return "network-id=" + ids.PublicNetwork })},
	{name: "floating IPs in a network that is not external", check: doctor.Networks, status: doctor.Error, what: "is not external", do: "openstack network list --external",
		make: lines(func(ids cloudsim.IDs) string { return "floating-network-id=" + ids.PrivateNetwork })},
	{name: "floating IPs in a subnet of another network", check: doctor.Networks, status: doctor.Error, what: "not a subnet of the external network", do: "openstack network show",
		make: lines(func(ids cloudsim.IDs) string { return "floating-subnet-id=" + ids.PrivateSubnet })},
	{name: "a second subnet of the same family", check: doctor.Networks, status: doctor.Error, what: "additional-subnet-id has IPv4", do: "openstack subnet list --network",
		make: lines(func(ids cloudsim.IDs) string { return "additional-subnet-id=" + ids.PrivateSubnet })},
	{name: "members in a subnet of the other family", check: doctor.Networks, status: doctor.Error, what: "no node has such an address", do: "kubectl get nodes",
		make: lines(func(ids cloudsim.IDs) string { return "member-subnet-id=" + ids.PrivateSubnetV6 })},
	{name: "a class with an unknown network", check: doctor.Networks, status: doctor.Error, what: `[LoadBalancerClass "gold"] floating-network-id`, do: "openstack network list",
		make: lines(func(cloudsim.IDs) string { return "[LoadBalancerClass \"gold\"]\nfloating-network-id=" + unusedID })},
	{name: "an unknown provider", check: doctor.Providers, status: doctor.Error, what: "lb-provider is vmware", do: "openstack loadbalancer provider list",
		make: lines(func(cloudsim.IDs) string { return "lb-provider=vmware" })},
	{name: "an unknown flavor", check: doctor.Providers, status: doctor.Error, what: "there is no such flavor", do: "openstack loadbalancer flavor list",
		make: lines(func(cloudsim.IDs) string { return "flavor-id=" + unusedID }), alone: true},
	{name: "a disabled flavor", simulated: "provider ovn has no flavors", check: doctor.Providers, status: doctor.Error, what: "this flavor is disabled", do: "openstack loadbalancer flavor set --enable",
		make: func(p *patient) string {
			id := p.makeFlavor(p.namespace)
			if err := p.cloud.call(asAdmin, cloudsim.LoadBalancer, http.MethodPut, "/v2.0/lbaas/flavors/"+id, map[string]any{"flavor": map[string]any{"enabled": false}}, nil); err != nil {
				p.t.Fatal(err)
			}
			return p.in("flavor-id=" + id)
		}},
	{name: "an unknown availability zone", check: doctor.Providers, status: doctor.Error, what: "availability-zone is nowhere", do: "openstack loadbalancer availabilityzone list",
		make: lines(func(cloudsim.IDs) string { return "availability-zone=nowhere" }), alone: true},
	{name: "a key without effect", check: doctor.Configuration, status: doctor.Warning, what: "bs-version", do: "Remove the key",
		make: lines(func(cloudsim.IDs) string { return "[BlockStorage]\nbs-version=v3" })},
}

var mistakesInTheCloud = []mistake{
	{name: "no free address", check: doctor.Addresses, status: doctor.Error, what: "0 free addresses", do: "openstack subnet set --allocation-pool", make: fullSubnet},
	{name: "a subnet without a router", check: doctor.Networks, status: doctor.Warning, what: "sees no router between subnet", do: "openstack router add subnet",
		make: func(p *patient) string {
			return p.in("subnet-id=" + p.makeSubnet(asUser, p.cloud.IDs().PrivateNetwork, "apart", netip.MustParsePrefix("198.18.79.0/24"), 100))
		}},
	{name: "no quota of load balancers", check: doctor.Quotas, status: doctor.Error, what: "of 0 load balancers", do: "openstack loadbalancer quota set --loadbalancer",
		make: func(p *patient) string { return p.limit(cloudsim.LoadBalancer, "load_balancer", 0) }, alone: true},
	{name: "no quota of floating IPs", check: doctor.Quotas, status: doctor.Error, what: "of 0 floating IPs", do: "openstack quota set --floating-ips",
		make: func(p *patient) string { return p.limit(cloudsim.Network, "floatingip", 0) }, alone: true},
	{name: "NodePorts that are closed", check: doctor.SecurityGroups, status: doctor.Error, what: "do not admit NodePort", do: "openstack security group rule create --ingress --protocol tcp",
		make: closedNode},
	{name: "a load balancer in ERROR", check: doctor.LoadBalancers, status: doctor.Error, what: "is in ERROR", do: "openstack loadbalancer failover",
		make: func(p *patient) string {
			id := p.web.tree().ID
			p.cloud.fail(id)
			p.t.Cleanup(func() { p.cloud.repair(id); p.eventually(func() error { return p.is("ACTIVE", p.web) }) })
			return p.conf
		}},
	{name: "a port that Octavia left", check: doctor.Orphans, status: doctor.Warning, what: "(octavia-lb-" + unusedID + ") is the VIP", do: "openstack port delete",
		make: func(p *patient) string {
			id := p.makeNamedPort("octavia-lb-" + unusedID)
			p.t.Cleanup(func() { p.cloud.neutron(http.MethodDelete, "ports/"+id, nil, nil) })
			return p.conf
		}},
	{name: "a floating IP of a Service that does not exist", check: doctor.Orphans, status: doctor.Warning, what: "floatingip", do: "--orphan-grace-period",
		make: func(p *patient) string {
			f := p.cloud.makeFloatingIP("")
			has := p.cloud.floatingIP(p.web.address())
			description := strings.ReplaceAll(has.Description, string(p.web.now().UID), unusedID)
			p.cloud.neutron(http.MethodPut, "floatingips/"+f.ID, map[string]any{"floatingip": map[string]any{"description": description}}, nil)
			p.t.Cleanup(func() { p.cloud.neutron(http.MethodDelete, "floatingips/"+f.ID, nil, nil) })
			return p.conf
		}},
	{name: "a clock that is ten minutes behind", check: doctor.Clock, status: doctor.Error, what: "behind that of Keystone", do: "NTP",
		make: func(p *patient) string {
			return p.through(func(token *http.Response, _ map[string]any) {
				token.Header.Set("Date", time.Now().Add(10*time.Minute).UTC().Format(http.TimeFormat))
			})
		}},
	{name: "no Barbican for a certificate", check: doctor.Catalogue, status: doctor.Error, what: "no key-manager service", do: "openstack catalog list",
		make: func(p *patient) string {
			p.web.change(annotated(prefix+"tls-secret", "certificate"))
			p.t.Cleanup(func() { p.web.change(notAnnotated(prefix + "tls-secret")) })
			return p.through(func(_ *http.Response, token map[string]any) {
				token["catalog"] = slices.DeleteFunc(token["catalog"].([]any), func(entry any) bool { return entry.(map[string]any)["type"] == cloudsim.KeyManager })
			})
		}, alone: true},
	{name: "no Octavia", check: doctor.Catalogue, status: doctor.Error, what: "no load-balancer service", do: "openstack catalog list",
		make: func(p *patient) string {
			return p.through(func(_ *http.Response, token map[string]any) {
				token["catalog"] = slices.DeleteFunc(token["catalog"].([]any), func(entry any) bool { return entry.(map[string]any)["type"] == cloudsim.LoadBalancer })
			})
		}},
}

var mistakesOfCredentials = []mistake{
	{name: "a password", check: doctor.Credentials, status: doctor.Warning, what: "password of a user", do: "kube-octavia credential create",
		make: func(p *patient) string { return p.cloud.PasswordConf() }},
	{name: "a wrong password", check: doctor.Credentials, status: doctor.Error, what: "401", do: "[Global]",
		make: func(p *patient) string {
			return strings.ReplaceAll(p.cloud.PasswordConf(), p.cloud.Credentials().Password, "wrong")
		}},
	{name: "a wrong project", check: doctor.Credentials, status: doctor.Error, what: "Keystone accepts user and password, but not project " + unusedID, do: "Set tenant-id in [Global] to a project in which the user has a role",
		make: func(p *patient) string {
			return strings.ReplaceAll(p.cloud.PasswordConf(), p.cloud.Credentials().ProjectID, unusedID)
		}},
	{name: "a credential that expires soon", check: doctor.Credentials, status: doctor.Warning, what: "the credentials expire at", do: "kube-octavia credential rotate",
		make: func(p *patient) string {
			return p.expiring("soon", time.Now().Add(time.Hour))
		}, unknown: []doctor.Check{doctor.Quotas, doctor.Networks}},
	{name: "a credential that has expired", check: doctor.Credentials, status: doctor.Error, what: "401", do: "kube-octavia credential create",
		make: func(p *patient) string {
			conf := p.expiring("expired", time.Now().Add(3*time.Second))
			p.eventually(func() error {
				if _, out, _ := p.examine(conf, "--checks=credentials"); !strings.Contains(out, "ERROR: authenticate") {
					return fmt.Errorf("Keystone still accepts it:\n%s", out)
				}
				return nil
			})
			return conf
		}},
	{name: "access rules that lack calls", check: doctor.Credentials, status: doctor.Error, what: "do not allow", do: "kube-octavia credential rotate",
		make: func(p *patient) string {
			var rules []applicationcredentials.AccessRule
			for _, path := range []string{"/v2.0/networks", "/v2.0/subnets", "/v2.0/ports", "/v2.0/routers", "/v2.0/floatingips", "/v2.0/security-groups", "/v2.0/quotas/**", "/v2.0/network-ip-availabilities"} {
				rules = append(rules, applicationcredentials.AccessRule{Service: cloudsim.Network, Method: http.MethodGet, Path: path})
			}
			for _, path := range []string{"/", "/v2.0/lbaas/**"} {
				rules = append(rules, applicationcredentials.AccessRule{Service: cloudsim.LoadBalancer, Method: http.MethodGet, Path: path})
			}
			return p.applicationCredential("lacking", rules)
		}},
	{name: "only the role reader", check: doctor.Credentials, status: doctor.Error, what: "the only roles are reader", do: "openstack role add",
		make: func(p *patient) string {
			reader := p.cloud.Reader()
			return strings.NewReplacer(strconv.Quote(p.cloud.Credentials().Username), strconv.Quote(reader.Username), p.cloud.Credentials().Password, reader.Password).Replace(p.cloud.PasswordConf())
		}, unknown: []doctor.Check{doctor.Providers, doctor.Quotas, doctor.LoadBalancers, doctor.Orphans}},
}

var mistakesInTheCluster = []mistake{
	{name: "no rights", check: doctor.Kubernetes, status: doctor.Error, what: "may not patch services/status", do: "Apply deploy/clusterrole.yaml",
		make:    func(p *patient) string { p.kubeconfig = p.powerless(); return p.conf },
		unknown: []doctor.Check{doctor.SecurityGroups, doctor.OtherControllers, doctor.Annotations, doctor.LoadBalancers, doctor.Orphans}},
	{name: "openstack-cloud-controller-manager at work", check: doctor.OtherControllers, status: doctor.Warning, what: "master-1 renewed Lease kube-system/cloud-controller-manager", do: "--controllers=*,-service",
		make: func(p *patient) string {
			return p.lease(metav1.NamespaceSystem, "cloud-controller-manager", time.Now())
		}},
	{name: "openstack-cloud-controller-manager with its service controller", check: doctor.OtherControllers, status: doctor.Warning, what: "/openstack-cloud-controller-manager) runs with its service controller", do: "--controllers=*,-service",
		make: func(p *patient) string {
			p.t.Cleanup(p.runOCCM("--cloud-provider=openstack"))
			return p.conf
		}},
	{name: "a kube-octavia that has stopped", check: doctor.OtherControllers, status: doctor.Warning, what: "master-1 has Lease", do: "get pods",
		make: func(p *patient) string { return p.lease(p.namespace, "kube-octavia", time.Now().Add(-time.Hour)) }},
	{name: "a Service that is not programmed", check: doctor.LoadBalancers, status: doctor.Warning, what: "not programmed, reason QuotaExceeded: none left", do: "kubectl describe service",
		make: func(p *patient) string {
			p.setProgrammed(metav1.ConditionFalse, "QuotaExceeded")
			p.t.Cleanup(func() { p.setProgrammed(metav1.ConditionTrue, "Programmed") })
			return p.conf
		}},
	{name: "a Service that requests what Octavia cannot do", check: doctor.Features, status: doctor.Error, what: "InvalidAnnotation", do: "kubectl edit service",
		make: func(p *patient) string {
			p.web.change(annotated("kube-octavia.io/max-members", "many"))
			p.t.Cleanup(func() { p.web.change(notAnnotated("kube-octavia.io/max-members")) })
			return p.conf
		}},
}

// fullSubnet makes VIPs be in a subnet whose only address is taken, with a router.
func fullSubnet(p *patient) string {
	ids := p.cloud.IDs()
	subnet := p.makeSubnet(asUser, ids.PrivateNetwork, "full", netip.MustParsePrefix("198.18.78.0/24"), 1)
	var taken struct{ Port port }
	p.cloud.neutron(http.MethodPost, "ports", map[string]any{"port": map[string]any{"network_id": ids.PrivateNetwork, "fixed_ips": []any{map[string]string{"subnet_id": subnet}}}}, &taken)
	var inside struct{ Port port }
	p.cloud.neutron(http.MethodPost, "ports", map[string]any{"port": map[string]any{"network_id": ids.PrivateNetwork,
		"fixed_ips": []any{map[string]string{"subnet_id": subnet, "ip_address": "198.18.78.200"}}}}, &inside)
	p.cloud.neutron(http.MethodPut, "routers/"+ids.Router+"/add_router_interface", map[string]any{"port_id": inside.Port.ID}, nil)
	p.t.Cleanup(func() {
		p.cloud.neutron(http.MethodPut, "routers/"+ids.Router+"/remove_router_interface", map[string]any{"port_id": inside.Port.ID}, nil)
		p.cloud.neutron(http.MethodDelete, "ports/"+taken.Port.ID, nil, nil)
	})
	return p.in("subnet-id=" + subnet)
}

// closedNode closes the NodePorts. On a real cloud others use the security group of the nodes, so another node joins, with
// a port and a security group of its own.
func closedNode(p *patient) string {
	if *stateDir == "" {
		p.cloud.neutron(http.MethodDelete, "security-group-rules/"+p.rule, nil, nil)
		p.t.Cleanup(p.openNodes)
		return p.conf
	}
	var group struct {
		Group struct{ ID string } `json:"security_group"`
	}
	p.cloud.neutron(http.MethodPost, "security-groups", map[string]any{"security_group": map[string]any{"name": p.namespace}}, &group)
	var made struct {
		Port struct {
			ID  string
			IPs []struct {
				Address string `json:"ip_address"`
			} `json:"fixed_ips"`
		}
	}
	p.cloud.neutron(http.MethodPost, "ports", map[string]any{"port": map[string]any{"network_id": p.cloud.IDs().PrivateNetwork,
		"fixed_ips": []any{map[string]string{"subnet_id": p.cloud.IDs().PrivateSubnet}}, "security_groups": []string{group.Group.ID}}}, &made)
	node, err := p.client.CoreV1().Nodes().Create(p.t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: p.node("closed")}}, metav1.CreateOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		if err := p.client.CoreV1().Nodes().Delete(p.stage.t.Context(), node.Name, metav1.DeleteOptions{}); err != nil {
			p.t.Error(err)
		}
		p.cloud.neutron(http.MethodDelete, "ports/"+made.Port.ID, nil, nil)
		p.cloud.neutron(http.MethodDelete, "security-groups/"+group.Group.ID, nil, nil)
	})
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: made.Port.IPs[0].Address}}
	if _, err := p.client.CoreV1().Nodes().UpdateStatus(p.t.Context(), node, metav1.UpdateOptions{}); err != nil {
		p.t.Fatal(err)
	}
	return p.conf
}

// limitOther sets a quota of another project of a real cloud until the end of the subtest: others use the project of the
// test. It returns a cloud.conf for that project.
func (p *patient) limitOther(service, kind string, n int) string {
	p.t.Helper()
	cloud := p.cloud.backend.(*real)
	login := cloud.LoginAsUser()
	login.User, login.Password, login.ProjectID, login.ProjectName = "other", cloud.OtherPassword, "", "other"
	client, err := openstacktest.Connect(p.t.Context(), login)
	if err != nil {
		p.t.Fatal(err)
	}
	path := "/v2.0/quotas/" + client.Project()
	if service == cloudsim.LoadBalancer {
		path = "/v2.0/lbaas/quotas/" + client.Project()
	}
	if err := p.cloud.call(asAdmin, service, http.MethodPut, path, map[string]any{"quota": map[string]int{kind: n}}, nil); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		if err := p.cloud.call(asAdmin, service, http.MethodDelete, path, nil, nil); err != nil {
			p.t.Error(err)
		}
	})
	return strings.NewReplacer(cloud.Project, client.Project(), strconv.Quote(cloud.User), strconv.Quote("other"), cloud.Password, cloud.OtherPassword).Replace(p.cloud.PasswordConf())
}

// limit sets a quota until the end of the subtest.
func (p *patient) limit(service, kind string, n int) string {
	p.t.Helper()
	if *stateDir != "" {
		return p.limitOther(service, kind, n)
	}
	const unlimited = -1
	p.cloud.quota(service, kind, n)
	p.t.Cleanup(func() { p.cloud.quota(service, kind, unlimited) })
	return p.conf
}

// through returns a cloud.conf that leads to Keystone through a proxy, which changes the answer with the token.
func (p *patient) through(change func(answer *http.Response, token map[string]any)) string {
	p.t.Helper()
	target, err := url.Parse(p.cloud.AuthURL())
	if err != nil {
		p.t.Fatal(err)
	}
	path := target.Path
	target.Path = ""
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, ModifyResponse: func(r *http.Response) error {
		if r.Request.Method != http.MethodPost || !strings.HasSuffix(r.Request.URL.Path, "/auth/tokens") {
			return nil
		}
		var answer map[string]map[string]any
		if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
			return err
		}
		change(r, answer["token"])
		text, err := json.Marshal(answer)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		r.Header.Set("Content-Length", strconv.Itoa(len(text)))
		return err
	}}
	server := httptest.NewServer(proxy)
	p.t.Cleanup(server.Close)
	return strings.ReplaceAll(p.conf, p.cloud.AuthURL(), server.URL+path)
}

// powerless returns a kubeconfig of a ServiceAccount that has no rights.
func (p *patient) powerless() string {
	p.t.Helper()
	accounts := p.client.CoreV1().ServiceAccounts(p.namespace)
	if _, err := accounts.Create(p.t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "powerless"}}, metav1.CreateOptions{}); err != nil {
		p.t.Fatal(err)
	}
	token, err := accounts.CreateToken(p.t.Context(), "powerless", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	path := filepath.Join(p.dir, "powerless.kubeconfig")
	if err := kubetest.Cluster(p.t).KubeconfigFor(path, token.Status.Token); err != nil {
		p.t.Fatal(err)
	}
	return path
}

// lease creates a Lease that was renewed then, until the end of the subtest.
func (p *patient) lease(namespace, name string, renewed time.Time) string {
	p.t.Helper()
	leases := p.client.CoordinationV1().Leases(namespace)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To("master-1"), RenewTime: &metav1.MicroTime{Time: renewed}}}
	if _, err := leases.Create(p.t.Context(), lease, metav1.CreateOptions{}); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		if err := leases.Delete(p.stage.t.Context(), name, metav1.DeleteOptions{}); err != nil {
			p.t.Error(err)
		}
	})
	return p.conf
}

// setProgrammed sets the condition of the Service.
func (p *patient) setProgrammed(is metav1.ConditionStatus, reason string) {
	p.t.Helper()
	patch := fmt.Sprintf(`{"status":{"conditions":[{"type":%q,"status":%q,"reason":%q,"message":"none left","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`, programmed, is, reason)
	if _, err := p.client.CoreV1().Services(p.namespace).Patch(p.stage.t.Context(), "web", "application/strategic-merge-patch+json", []byte(patch), metav1.PatchOptions{FieldManager: "kube-octavia"}, "status"); err != nil {
		p.t.Fatal(err)
	}
}
