// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package kubernetes_test

import (
	"testing"

	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
)

func TestMain(m *testing.M) { kubetest.Main(m) }
