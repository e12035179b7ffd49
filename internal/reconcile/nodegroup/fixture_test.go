// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package nodegroup

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

var (
	web  = types.NamespacedName{Namespace: "default", Name: "web"}
	noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
)
