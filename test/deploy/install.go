// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package deploy installs the manifests of the directory deploy/ in a cluster of
// test/kube, as an operator would, and lets a controller outside the cluster be
// who it is inside: the ServiceAccount with its roles. Its tests are about the
// manifests. It imports test/kube and client-go.
package deploy

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/kube-octavia/kube-octavia/test/kube"
)

// The names in the manifests, written out so that a test notices a change.
const (
	// Namespace is where everything is.
	Namespace = "kube-octavia"
	// Name is that of the Deployment, the ServiceAccount, the roles and the Lease.
	Name = "kube-octavia"
	// GatesName is that of the ClusterRole and the policy for readiness gates.
	GatesName = Name + "-readiness-gates"
	// PageName is that of the Deployment, the ServiceAccount and the ClusterRole of the topology page.
	PageName = Name + "-ui"
	// User is the user of the controller for kube-apiserver.
	User = "system:serviceaccount:" + Namespace + ":" + Name
)

// Kubectl runs kubectl as the cluster's administrator and returns what it prints,
// warnings included.
func Kubectl(ctx context.Context, cluster *kube.Cluster, args ...string) (string, error) {
	kubeconfig := filepath.Join(cluster.Dir(), "kubectl.kubeconfig")
	if err := cluster.Kubeconfig(kubeconfig); err != nil {
		return "", err
	}
	command := exec.CommandContext(ctx, cluster.Kubectl(), append([]string{"--kubeconfig=" + kubeconfig}, args...)...)
	out, err := command.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("kubectl %v: %w\n%s", args, err, out)
	}
	return string(out), nil
}

// Install applies the manifests of the directory and waits until the roles are in
// force, which kube-apiserver learns a moment later.
func Install(ctx context.Context, cluster *kube.Cluster, dir string) error {
	if _, err := Kubectl(ctx, cluster, "apply", "-k", dir); err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		return err
	}
	for _, one := range []authorizationv1.ResourceAttributes{
		{Verb: "list", Resource: "services"},
		{Verb: "create", Resource: "leases", Group: "coordination.k8s.io", Namespace: Namespace},
	} {
		if err := awaitRight(ctx, client, one); err != nil {
			return err
		}
	}
	return nil
}

// InstallGates applies the manifests of deploy/readiness-gates, which is the
// directory, and waits until the role is in force. On a Kubernetes that does not have the kind of the
// policy, these are the rights alone, as the docs tell.
func InstallGates(ctx context.Context, cluster *kube.Cluster, dir string) error {
	manifests := []string{"-k", dir}
	has, err := hasKind(cluster, admissionv1.SchemeGroupVersion, "MutatingAdmissionPolicy")
	if err != nil {
		return err
	}
	if !has {
		manifests = []string{"-f", filepath.Join(dir, "clusterrole.yaml")}
	}
	return install(ctx, cluster, authorizationv1.ResourceAttributes{Verb: "list", Resource: "pods"}, manifests...)
}

// hasKind reports whether the API of the cluster has the kind in the version of its group.
func hasKind(cluster *kube.Cluster, version schema.GroupVersion, kind string) (bool, error) {
	client, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		return false, err
	}
	resources, err := client.Discovery().ServerResourcesForGroupVersion(version.String())
	if err != nil {
		return false, fmt.Errorf("list the kinds of %s: %w", version, err)
	}
	return slices.ContainsFunc(resources.APIResources, func(r metav1.APIResource) bool { return r.Kind == kind }), nil
}

// InstallDrain applies the Role of deploy/drain, which is the file, and waits until it is in force.
func InstallDrain(ctx context.Context, cluster *kube.Cluster, file string) error {
	return install(ctx, cluster, authorizationv1.ResourceAttributes{
		Verb: "patch", Group: "apps", Resource: "deployments", Subresource: "scale", Name: Name, Namespace: Namespace,
	}, "-f", file)
}

// InstallNodes applies the manifests of deploy/nodes, which is the directory, and waits until the role is in force.
func InstallNodes(ctx context.Context, cluster *kube.Cluster, dir string) error {
	return install(ctx, cluster, authorizationv1.ResourceAttributes{Verb: "delete", Resource: "nodes"}, "-k", dir)
}

// install applies manifests, and waits until the controller has the right.
func install(ctx context.Context, cluster *kube.Cluster, right authorizationv1.ResourceAttributes, manifests ...string) error {
	if _, err := Kubectl(ctx, cluster, append([]string{"apply"}, manifests...)...); err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		return err
	}
	return awaitRight(ctx, client, right)
}

// awaitRight waits until the controller may do this.
func awaitRight(ctx context.Context, client *kubernetes.Clientset, what authorizationv1.ResourceAttributes) error {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: User, ResourceAttributes: &what}}
	err := wait.PollUntilContextTimeout(ctx, 25*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		answer, err := client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		return err == nil && answer.Status.Allowed, err
	})
	if err != nil {
		return fmt.Errorf("wait until %s may %s %s: %w", User, what.Verb, what.Resource, err)
	}
	return nil
}

// tokenLifetime is longer than any run of tests.
const tokenLifetime = 24 * time.Hour

// Token returns a token of the controller's ServiceAccount.
func Token(ctx context.Context, cluster *kube.Cluster) (string, error) {
	client, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		return "", err
	}
	seconds := int64(tokenLifetime.Seconds())
	answer, err := client.CoreV1().ServiceAccounts(Namespace).CreateToken(ctx, Name,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("get a token of %s: %w", User, err)
	}
	return answer.Status.Token, nil
}
