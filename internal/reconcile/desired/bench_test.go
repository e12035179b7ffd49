// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func BenchmarkFivePortsInAClusterOfAThousandNodes(b *testing.B) {
	five := ports(port(corev1.ProtocolTCP, 80, 30080), port(corev1.ProtocolTCP, 81, 30081), port(corev1.ProtocolTCP, 82, 30082),
		port(corev1.ProtocolTCP, 83, 30083), port(corev1.ProtocolTCP, 84, 30084))
	for name, in := range map[string]Input{"all": input(large(1000), five), "20": input(large(1000), five, atMost("20"))} {
		b.Run("max-members="+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Wanted(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
