// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kube-octavia/kube-octavia/cloudsim"
)

func TestNetworksThatAreNotNamedAreFound(t *testing.T) {
	simulatorOnly(t, "a real cloud may have other networks; what they are asked for is in the contract")
	s := newStage(t, settings{off: true})
	lines := slices.DeleteFunc(strings.SplitAfter(s.cloud.CloudConf(), "\n"), func(line string) bool {
		return strings.HasPrefix(line, "floating-network-id") || strings.HasPrefix(line, "subnet-id")
	})
	if err := cloudsim.WriteFile(s.cloudConf(), strings.Join(lines, "")); err != nil {
		t.Fatal(err)
	}
	s.start()
	web := s.service("web", tcp(8080))
	s.answeredBy(web.programmed(), 8080, s.addresses("a", "b")...)
	web.hasOne()
}
