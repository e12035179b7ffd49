// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/internal/command/installation"
	"github.com/kube-octavia/kube-octavia/internal/operate/topology"
	"github.com/kube-octavia/kube-octavia/test/deploy"
)

// cloudSecret is the Secret of deploy/deployment.yaml with cloud.conf.
const cloudSecret = "cloud-config"

// installed starts a controller with leader election, as the Deployment of deploy/ does, and the Secret with its cloud.conf. Both
// end with the test, and so does the ConfigMap with the settings.
func (s *stage) installed(flags ...string) *process {
	s.t.Helper()
	s.deleteLease()
	s.afterwards = append(s.afterwards, func() { // so that commands of other tests do not find it
		_ = s.client.CoreV1().ConfigMaps(deploy.Namespace).Delete(context.Background(), deploy.Name+"-settings", metav1.DeleteOptions{})
	})
	conf, err := os.ReadFile(s.cloudConf())
	if err != nil {
		s.t.Fatal(err)
	}
	secrets := s.client.CoreV1().Secrets(deploy.Namespace)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: cloudSecret}, Data: map[string][]byte{"cloud.conf": conf}}
	if _, err := secrets.Create(s.t.Context(), secret, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	s.afterwards = append(s.afterwards, func() { _ = secrets.Delete(context.Background(), cloudSecret, metav1.DeleteOptions{}) })
	p := s.launch(build(s.t), append([]string{"--leader-elect-resource-namespace=" + deploy.Namespace, "--cloud-config-secret=" + cloudSecret,
		"--metrics-bind-address=0", "--health-probe-bind-address=0"}, flags...)...)
	s.eventually(func() error {
		m, err := s.client.CoreV1().ConfigMaps(deploy.Namespace).Get(s.t.Context(), deploy.Name+"-settings", metav1.GetOptions{})
		if err == nil && m.Data["project-id"] == "" {
			err = fmt.Errorf("the controller has not said in which project it works: %v", m.Data)
		}
		return err
	})
	return p
}

// withoutLogin lets the test have no login of OpenStack in its environment.
func withoutLogin(t *testing.T) {
	t.Helper()
	for _, name := range []string{"OS_CLOUD", "OS_AUTH_URL"} {
		t.Setenv(name, "")
	}
}

// TestCommandsNeedNoFlagsWithAControllerInTheCluster runs the commands as a plug-in of kubectl, with nothing but a kubeconfig.
func TestCommandsNeedNoFlagsWithAControllerInTheCluster(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	withoutLogin(t)
	s := newStage(t, settings{off: true})
	controller := s.installed("--load-balancer-class=example.com/found", "--controllers=service")
	web := s.service("web", tcp(8080), ofClass("example.com/found"))
	web.waitUntilProgrammed()
	have := web.tree()
	p := s.plugin()
	const where = "Settings: ConfigMap kube-octavia/kube-octavia-settings of the controller. Login: Secret kube-octavia/cloud-config."
	for _, c := range []struct {
		name string

		args   []string
		status int
		out    []string
	}{
		{"status", []string{"status"}, 0, []string{"NAMESPACE", have.ID}},
		{"wide status of all namespaces", []string{"status", "-A", "-o", "wide"}, 0, []string{"LOAD BALANCER NAME", have.ID}},
		{"status of a Service of the controller's class", []string{"status", "svc/" + web.name}, 0, []string{have.ID}}, // of class example.com/found, which no flag says
		{"names", []string{"status", "-o", "name"}, 0, []string{"service/" + web.name + "\n"}},
		{"plan", []string{"plan"}, 0, []string{"load balancer " + have.ID + ", ACTIVE", "nothing to do"}},
		{"plan of a Service as YAML", []string{"plan", "-n", s.namespace, "service/" + web.name, "-o", "yaml"}, 0, []string{"apiVersion: cli.kube-octavia.io/v1\n", "kind: PlanList\n", "name: " + web.name + "\n"}},
		{"migrate as JSON", []string{"migrate", "-o", "json"}, 0, []string{`"kind": "MigrationList"`, have.ID}},
		{"doctor", []string{"doctor", "--all", "--checks=configuration,credentials,other-controllers"}, 0,
			[]string{"it is in Secret kube-octavia/cloud-config", "kube-octavia works: "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.reportTo(t)
			status, out, errs := p.kubectl(append([]string{"octavia"}, c.args...)...)
			if status != c.status || strings.TrimSpace(errs) != where {
				t.Errorf("kubectl octavia %v: status %d, said %q, want %q; printed:\n%s", c.args, status, errs, where, out)
			}
			requireParts(t, strings.Join(c.args, " "), out, c.out...)
		})
	}
	if status, out, _ := p.kubectl("octavia", "plan", "--load-balancer-class=example.com/other", "-n", s.namespace, web.name); status != 0 || !strings.Contains(out, "not handled") {
		t.Errorf("a flag does not win over what is found: status %d\n%s", status, out)
	}
	web.delete()
	web.waitUntilGone()
	controller.terminate()
}

func TestThePageIsServedWithoutFlagsAndStaysUp(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	withoutLogin(t)
	s := newStage(t, settings{off: true})
	controller := s.installed()
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	p := s.servesWithoutConfig(s.adminKubeconfig())
	p.waitUntilState(web, topology.OK, "") // that takes the connection to the cloud
	web.delete()
	web.waitUntilGone()
	p.eventually(func() error {
		if shown, err := p.of(web); err == nil {
			return fmt.Errorf("a Service that is deleted is still shown: %+v", shown)
		}
		return nil
	})
	controller.terminate()
}

// TestCommandsWithoutFlagsReportWhatIsMissing is about users and installations of other kinds.
func TestCommandsWithoutFlagsReportWhatIsMissing(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	withoutLogin(t)
	s := newStage(t, settings{off: true})
	s.deleteLease()
	flagless := func(kubeconfig string, args ...string) (int, string, string) {
		status, out, errs := s.runPlain(append(args, "--kubeconfig="+kubeconfig)...)
		return status, out, errs
	}
	if status, _, errs := flagless(s.adminKubeconfig(), "status"); status != 1 || !strings.Contains(errs, "--cloud-config is required") || !strings.Contains(errs, installation.ErrNone.Error()) {
		t.Errorf("without a controller: status %d, %s", status, errs)
	}
	controller := s.installed()

	reader := s.readerWithoutSecrets()
	if status, _, errs := flagless(reader, "status"); status != 1 || !strings.Contains(errs, "read Secret kube-octavia/cloud-config: ") || !strings.Contains(errs, "set $OS_CLOUD or the variables of an openrc file, or --cloud-config") {
		t.Errorf("a user who may not read the Secret: status %d, %s", status, errs)
	}
	s.loginInEnvironment(s.cloud.Credentials())
	if status, out, errs := flagless(reader, "status"); status != 0 || !strings.Contains(errs, "Login: the environment ($OS_AUTH_URL and others).") {
		t.Errorf("the same with a login of their own: status %d, %s\n%s", status, errs, out)
	}
	other := installation.Settings{Namespace: s.namespace, Flags: map[string]string{"leader-elect-resource-name": "other"}}.ConfigMap()
	if _, err := s.client.CoreV1().ConfigMaps(s.namespace).Create(t.Context(), other, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if status, _, errs := flagless(s.adminKubeconfig(), "status"); status != 0 || !strings.Contains(errs, "ConfigMap kube-octavia/kube-octavia-settings") {
		t.Errorf("beside another ConfigMap, whose controller does not work: status %d, %s", status, errs)
	}
	controller.terminate()
	s.deleteLeaseOnly()
	if status, _, errs := flagless(s.adminKubeconfig(), "status"); status != 1 || !strings.Contains(errs, "choose one of --settings=kube-octavia/kube-octavia-settings, --settings="+s.namespace+"/other-settings") {
		t.Errorf("if none of two works: status %d, %s", status, errs)
	}
	if status, _, errs := flagless(s.adminKubeconfig(), "status", "--settings=kube-octavia/kube-octavia-settings"); status != 0 {
		t.Errorf("if one of two is chosen: status %d, %s", status, errs)
	}
	found, err := s.client.CoreV1().ConfigMaps(deploy.Namespace).Get(t.Context(), deploy.Name+"-settings", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found.Data["project-id"] = "another"
	if _, err := s.client.CoreV1().ConfigMaps(deploy.Namespace).Update(t.Context(), found, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if status, _, errs := flagless(s.adminKubeconfig(), "plan", "--settings=kube-octavia/kube-octavia-settings"); status != 1 || !strings.Contains(errs, "and the controller works in project another") {
		t.Errorf("with a login for another project: status %d, %s", status, errs)
	}
}

// readerWithoutSecrets returns the kubeconfig of a user who may read everything that status reads, but no
// Secret.
func (s *stage) readerWithoutSecrets() string {
	s.t.Helper()
	name := s.namespace + "-reader"
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"services", "nodes", "namespaces", "configmaps"}, Verbs: []string{"get", "list"}},
		{APIGroups: []string{"discovery.k8s.io", "networking.k8s.io", "coordination.k8s.io"}, Resources: []string{"endpointslices", "servicecidrs", "leases"}, Verbs: []string{"get", "list"}},
	}}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}}}
	rbac := s.client.RbacV1()
	if _, err := rbac.ClusterRoles().Create(s.t.Context(), role, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	if _, err := rbac.ClusterRoleBindings().Create(s.t.Context(), binding, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	s.afterwards = append(s.afterwards, func() {
		_ = rbac.ClusterRoleBindings().Delete(context.Background(), name, metav1.DeleteOptions{})
		_ = rbac.ClusterRoles().Delete(context.Background(), name, metav1.DeleteOptions{})
	})
	config, err := clientcmd.LoadFromFile(s.adminKubeconfig())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, user := range config.AuthInfos {
		user.Impersonate = name
	}
	path := filepath.Join(s.t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		s.t.Fatal(err)
	}
	s.eventually(func() error {
		status, _, errs := s.runPlain("plan", "-n", s.namespace, "--cloud-config="+s.cloudConf(), "--kubeconfig="+path)
		if status != 0 {
			return fmt.Errorf("the user lacks rights: %s", errs)
		}
		return nil
	})
	return path
}

// loginInEnvironment sets the variables of an openrc file until the test ends.
func (s *stage) loginInEnvironment(c cloudsim.Credentials) {
	s.t.Helper()
	for name, value := range map[string]string{"OS_AUTH_URL": c.AuthURL, "OS_USERNAME": c.Username, "OS_PASSWORD": c.Password, "OS_USER_DOMAIN_NAME": c.UserDomainName, "OS_PROJECT_ID": c.ProjectID} {
		s.t.Setenv(name, value)
	}
}

// deleteLeaseOnly deletes the Lease, and not the settings.
func (s *stage) deleteLeaseOnly() {
	s.t.Helper()
	name := types.NamespacedName{Namespace: deploy.Namespace, Name: deploy.Name}
	if err := s.client.CoordinationV1().Leases(name.Namespace).Delete(s.t.Context(), name.Name, metav1.DeleteOptions{}); err != nil {
		s.t.Fatal(err)
	}
}
