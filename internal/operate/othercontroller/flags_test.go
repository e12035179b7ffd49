// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package othercontroller

import (
	"cmp"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
)

// hack/kube also compares the table with the library that openstack-cloud-controller-manager uses.
func TestTheServiceControllerRunsUnlessTheFlagsSayOtherwise(t *testing.T) {
	table, err := os.ReadFile("testdata/controllers.txt")
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for line := range strings.Lines(string(table)) {
		args, want, found := strings.Cut(strings.TrimSpace(line), "-> ")
		if strings.HasPrefix(line, "#") || !found {
			continue
		}
		compared++
		t.Run("with "+cmp.Or(strings.TrimSpace(args), "no arguments"), func(t *testing.T) {
			command := append([]string{"/bin/openstack-cloud-controller-manager"}, strings.Fields(args)...)
			inShell := []string{"/bin/sh", "-c", "exec /bin/openstack-cloud-controller-manager " + strings.ReplaceAll(args, "*,-service", "'*,-service'")}
			for _, form := range [][]string{command, inShell} {
				if got := (Workload{Args: form}).ServesServices(); got != (want == "on") {
					t.Errorf("%q: the service controller runs: %v, want %s", form, got, want)
				}
			}
		})
	}
	if compared < 15 {
		t.Errorf("only %d lines of the table were compared", compared)
	}
}

func TestLabelsOfALeaseAreValidForEveryClass(t *testing.T) {
	long := strings.Repeat("long.", 40) + "example.com/lb"
	seen := map[string]string{}
	for _, class := range []string{"kube-octavia.io/octavia", "internal-vip", "example.com/Internal_VIP", long, long + "2"} {
		for key, value := range Labels(claim.Policy{LoadBalancerClass: class, DefaultClass: true}) {
			if problems := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...); len(problems) > 0 {
				t.Errorf("class %s has label %s=%s: %v", class, key, value, problems)
			}
			if key == ClassLabel && seen[value] != "" {
				t.Errorf("classes %s and %s have the same label", seen[value], class)
			} else if key == ClassLabel {
				seen[value] = class
			}
		}
	}
}
