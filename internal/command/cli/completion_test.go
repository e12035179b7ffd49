// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func TestShellsCompleteServicesOfTypeLoadBalancerInTheFormThatTheUserBegan(t *testing.T) {
	service := func(namespace, name string, serviceType corev1.ServiceType) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.ServiceSpec{Type: serviceType}}
	}
	reader := fake.NewClientBuilder().WithObjects(
		service("default", "web", corev1.ServiceTypeLoadBalancer), service("default", "api", corev1.ServiceTypeLoadBalancer), service("default", "inner", corev1.ServiceTypeClusterIP),
		service("shop", "cart", corev1.ServiceTypeLoadBalancer)).Build()
	for name, test := range map[string]struct {
		typed serviceArguments
		want  []string
	}{
		"nothing":                     {serviceArguments{}, []string{"api", "web"}},
		"a beginning":                 {serviceArguments{prefix: "w"}, []string{"web"}},
		"a kind":                      {serviceArguments{prefix: "svc/"}, []string{"svc/api", "svc/web"}},
		"a kind and a beginning":      {serviceArguments{prefix: "service/a"}, []string{"service/api"}},
		"a namespace":                 {serviceArguments{prefix: "shop/"}, []string{"shop/cart"}},
		"--namespace":                 {serviceArguments{namespace: "shop"}, []string{"cart"}},
		"nothing, of another context": {serviceArguments{contextNamespace: "shop"}, []string{"cart"}},
		"one that is there already":   {serviceArguments{before: []string{"api"}}, []string{"web"}},
		"another namespace than -n":   {serviceArguments{prefix: "shop/", namespace: "default"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := serviceNames(t.Context(), reader, test.typed)
			if d := cmp.Diff(test.want, got); err != nil || d != "" {
				t.Errorf("%v (-want +got):\n%s", err, d)
			}
		})
	}
}

func TestShellsCompleteWithoutACluster(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	path := kubeconfigFor(t, "https://127.0.0.1:1", "", func(c *api.Config) { c.Contexts["other"] = c.Contexts["c"] })
	for name, test := range map[string]struct {
		args []string
		want []string
	}{
		"formats of status": {[]string{"status", "-o", ""}, []string{"text", "wide", "json", "yaml", "name", "tree"}},
		"contexts":          {[]string{"plan", "--kubeconfig=" + path, "--context", ""}, []string{"c", "other"}},
		"commands":          {[]string{"pl"}, []string{"plan\tShow what the controller would do, without doing it"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, as := range []string{"kube-octavia", "/usr/local/bin/" + completer} {
				t.Run("as "+filepath.Base(as), func(t *testing.T) {
					args := slices.Clone(test.args)
					if as == "kube-octavia" {
						args = append([]string{"__complete"}, args...)
					}
					var out, errs bytes.Buffer
					status := Run(t.Context(), args, IO{Out: &out, Err: &errs}, Options{Program: as})
					lines := strings.Split(strings.TrimSpace(out.String()), "\n")
					got := lines[:len(lines)-1] // the last line is for the shell
					if d := cmp.Diff(test.want, append([]string(nil), got...)); status != exitOK || d != "" {
						t.Errorf("by %s: status %d, %s (-want +got):\n%s", as, status, errs.String(), d)
					}
				})
			}
		})
	}
}

func TestThePluginSaysHowKubectlCompletesIt(t *testing.T) {
	for program, want := range map[string]bool{"kube-octavia": false, "kubectl-octavia": true} {
		t.Run(program, func(t *testing.T) {
			var out, errs bytes.Buffer
			if status := Run(t.Context(), []string{"completion", "--help"}, IO{Out: &out, Err: &errs}, Options{Program: program}); status != exitOK || strings.Contains(out.String(), completer) != want {
				t.Errorf("status %d\n%s", status, out.String())
			}
			out.Reset()
			if status := Run(t.Context(), []string{"completion", "bash"}, IO{Out: &out, Err: &errs}, Options{Program: program}); status != exitOK || !strings.Contains(out.String(), "__start_"+program+" "+program) {
				t.Errorf("the script, with status %d, is not one for it", status)
			}
		})
	}
}
