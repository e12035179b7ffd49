// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// checkAnnotations reports unknown annotations of Services that are meant for kube-octavia.
func checkAnnotations(f facts, r *Result) {
	if !r.Has(f.Cluster.Services.Missing, "kubectl get services -A") {
		return
	}
	services := served(f)
	for _, s := range services {
		unknown := annotation.FindUnknown(s.Annotations)
		protects := slices.DeleteFunc(slices.Clone(unknown), func(u annotation.Unknown) bool { return u.Protects == "" })
		harmless := slices.DeleteFunc(unknown, func(u annotation.Unknown) bool { return u.Protects != "" })
		if len(protects) > 0 {
			r.Found(Error, unknownText(s, protects), "The intended annotation may restrict access or protect something, so the Service is refused: nothing is created, and existing ports keep serving.", correctKeys(s))
		}
		if len(harmless) > 0 {
			r.Found(Warning, unknownText(s, harmless), "The Service is served without the intended annotations.", correctKeys(s))
		}
	}
	if len(r.Findings) == 0 {
		r.Saw(fmt.Sprintf("Services without unknown annotations: %d", len(services)))
	}
}

func unknownText(s corev1.Service, unknown []annotation.Unknown) string {
	texts := make([]string, len(unknown))
	for i, u := range unknown {
		texts[i] = u.String()
	}
	return fmt.Sprintf("Service %s has unknown annotations: %s", name(s), strings.Join(texts, ", "))
}

func correctKeys(s corev1.Service) string {
	return fmt.Sprintf("Correct the keys, or remove the annotations: `kubectl edit service -n %s %s`.", s.Namespace, s.Name)
}
