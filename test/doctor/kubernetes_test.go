// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kube-octavia/kube-octavia/internal/operate/doctor"
)

// server makes the kubeconfig lead to another address.
func server(of func(*setup) string) func(*setup) {
	return func(s *setup) { s.kubeconfig.Clusters["k"].Server = of(s) }
}

// apiBehindTLS serves the API with a certificate, whose CA the kubeconfig trusts.
func apiBehindTLS(host string, ends time.Duration) func(*setup) {
	return func(s *setup) {
		address, ca := s.serveTLS(s.api, s.newCertificate(host, time.Now().Add(ends)))
		s.kubeconfig = kubeconfigFor(address, ca)
	}
}

// answers serves an API that answers each request with a status.
func answers(status int, kind, body string) func(*setup) {
	return func(s *setup) {
		address, ca := s.serveTLS(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}), nil)
		s.kubeconfig = kubeconfigFor(address, ca)
	}
}

// wayToKubernetes returns a situation in which the API cannot be used.
func wayToKubernetes(name string, arise func(*setup), what, do, lie string) situation {
	return situation{name: name, arise: arise, check: doctor.Kubernetes, status: doctor.Error, what: what, do: do, lie: lie}
}

// otherProgram is advice that is right only if something answers that is not the API.
const otherProgram = "another program"

var onTheWayToKubernetes = []situation{
	wayToKubernetes("The kubeconfig does not exist", func(s *setup) { s.kubeconfig = nil }, "does not exist", "Set --kubeconfig or $KUBECONFIG", otherProgram),
	wayToKubernetes("The kubeconfig has no such context", func(s *setup) { s.kubeconfig.CurrentContext = "d" }, `its current-context "d" does not exist`, "Set --kubeconfig or $KUBECONFIG", otherProgram),
	wayToKubernetes("Two files of the kubeconfig do not exist", func(s *setup) {
		u, k, dir := s.kubeconfig.AuthInfos["u"], s.kubeconfig.Clusters["k"], filepath.Dir(s.confPath)
		u.ClientCertificate, u.ClientKeyData, u.Token = filepath.Join(dir, "user.pem"), []byte("key"), ""
		k.CertificateAuthority, k.CertificateAuthorityData = filepath.Join(dir, "ca.pem"), nil
	}, "user.pem", "Set --kubeconfig or $KUBECONFIG", otherProgram),
	wayToKubernetes("The token has expired", func(s *setup) { s.kubeconfig.AuthInfos["u"].Token = "old" }, "Unauthorized", `Log in again, or get another kubeconfig: the credentials of user "u"`, otherProgram),
	wayToKubernetes("There is no token", func(s *setup) { s.kubeconfig.AuthInfos["u"].Token = "" }, "Unauthorized", `Log in again, or get another kubeconfig: the credentials of user "u"`, otherProgram),
	wayToKubernetes("The CA of the API is another one", func(s *setup) {
		s.kubeconfig.Clusters["k"].CertificateAuthorityData = s.newCertificate("127.0.0.1", time.Now().Add(time.Hour)).pem
	}, "unknown authority", "certificate-authority next to server of cluster", otherProgram),
	wayToKubernetes("The certificate of the API is for another host", apiBehindTLS("kubernetes.example.com", time.Hour), "cannot validate certificate for 127.0.0.1", "tls-server-name", otherProgram),
	wayToKubernetes("The certificate of the API has expired", apiBehindTLS("127.0.0.1", -time.Hour), "certificate has expired", "The certificate of the API server must be renewed", otherProgram),
	wayToKubernetes("The name of the host of the API is unknown", server(func(*setup) string { return "https://kubernetes.invalid" }), "no such host", "the DNS of this machine or Pod", otherProgram),
	wayToKubernetes("No API listens at the port", server(func(s *setup) string { return strings.Replace(s.closedPort(), "http:", "https:", 1) }), "connection refused", "is the API server running", otherProgram),
	wayToKubernetes("http instead of https, for the API", server(func(s *setup) string { return strings.Replace(s.kubeconfig.Clusters["k"].Server, "https:", "http:", 1) }), "", "must begin with https://", otherProgram),
	wayToKubernetes("https instead of http, for the API", server(func(s *setup) string { return strings.Replace(s.webPage(), "http:", "https:", 1) }), "", "must begin with http://", otherProgram),
	wayToKubernetes("A web page is at the address of the API", answers(http.StatusOK, "text/html", "<html>Log in</html>"), "it does not answer as the Kubernetes API does", otherProgram, ""),
	wayToKubernetes("A proxy refuses the way to the API", answers(http.StatusForbidden, "text/html", "<html>Forbidden by your company</html>"), "", otherProgram, "RBAC"),
	wayToKubernetes("The API server fails", answers(http.StatusInternalServerError, "application/json", `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"etcdserver: leader changed","reason":"InternalError","code":500}`),
		"etcdserver: leader changed", "kubectl get --raw '/readyz?verbose'", otherProgram),
}

// mayNot takes rights from the user.
func mayNot(verb string, resources ...string) func(*setup) {
	return func(s *setup) {
		s.api.Access.Denies = func(a authorizationv1.ResourceAttributes) bool {
			return a.Verb == verb && slices.Contains(resources, strings.TrimSuffix(a.Resource+"/"+a.Subresource, "/"))
		}
	}
}

// lease creates a Lease that was renewed some time ago.
func lease(namespace, name string, ago time.Duration) func(*setup) {
	return func(s *setup) {
		_, err := s.kube.CoreV1().Namespaces().Create(s.ctx(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
		if namespace != metav1.NamespaceSystem {
			s.must(err)
		}
		_, err = s.kube.CoordinationV1().Leases(namespace).Create(s.ctx(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To("master-1"), RenewTime: &metav1.MicroTime{Time: time.Now().Add(-ago)}}}, metav1.CreateOptions{})
		s.must(err)
	}
}

// withoutServicesOfKubernetes are checks that need the Services.
var withoutServicesOfKubernetes = []doctor.Check{doctor.Annotations, doctor.OtherControllers, doctor.LoadBalancers, doctor.Orphans}

var inKubernetes = []situation{
	{name: "The user may not list Services", arise: mayNot("list", "services"),
		check: doctor.Kubernetes, status: doctor.Error, what: "may not list services", do: "Apply deploy/clusterrole.yaml", lie: "in cloud.conf", also: withoutServicesOfKubernetes},
	{name: "The user may not list nodes", arise: mayNot("list", "nodes"),
		check: doctor.SecurityGroups, status: doctor.Unknown, what: `cannot list resource "nodes"`, do: "Grant the right with RBAC", lie: "in cloud.conf", also: []doctor.Check{doctor.Kubernetes}},
	{name: "The user may not change the status of Services", arise: mayNot("patch", "services/status"),
		check: doctor.Kubernetes, status: doctor.Error, what: "may not patch services/status", do: "kubectl auth can-i patch services --subresource=status"},
	{name: "The user may not write the Lease", arise: mayNot("update", "leases"),
		check: doctor.Kubernetes, status: doctor.Error, what: "may not update leases", do: "Apply deploy/role.yaml"},
	{name: "The user may not look for other controllers", arise: mayNot("list", "daemonsets", "deployments"),
		check: doctor.OtherControllers, status: doctor.Unknown, what: `cannot list resource "daemonsets"`, do: "Grant the right with RBAC", lie: "in cloud.conf", also: []doctor.Check{doctor.Kubernetes}},
	{name: "The user may not read the uid of the cluster", arise: mayNot("get", "namespaces"),
		check: doctor.LoadBalancers, status: doctor.Unknown, what: `cannot get resource "namespaces"`, do: "Grant the right with RBAC", lie: "in cloud.conf", also: []doctor.Check{doctor.Kubernetes, doctor.Orphans}},
	{name: "openstack-cloud-controller-manager leads", arise: lease(metav1.NamespaceSystem, "cloud-controller-manager", 0),
		check: doctor.OtherControllers, status: doctor.Warning, what: "master-1 renewed Lease kube-system/cloud-controller-manager", do: "--controllers=*,-service"},
	{name: "openstack-cloud-controller-manager runs with its service controller", arise: func(s *setup) {
		set, err := s.kube.AppsV1().DaemonSets(metav1.NamespaceSystem).Create(s.ctx(), &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "openstack-cloud-controller-manager"},
			Spec: appsv1.DaemonSetSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "occm", Args: []string{"--cloud-provider=openstack"}}}}}}}, metav1.CreateOptions{})
		s.must(err)
		set.Status.NumberReady = 1
		_, err = s.kube.AppsV1().DaemonSets(metav1.NamespaceSystem).UpdateStatus(s.ctx(), set, metav1.UpdateOptions{})
		s.must(err)
	}, check: doctor.OtherControllers, status: doctor.Warning, what: "runs with its service controller", do: "--controllers=*,-service"},
	{name: "The controller has stopped", arise: lease("kube-octavia", "kube-octavia", time.Hour),
		check: doctor.OtherControllers, status: doctor.Warning, what: "master-1 has Lease kube-octavia/kube-octavia, but last renewed it", do: "kubectl -n kube-octavia get pods"},
}
