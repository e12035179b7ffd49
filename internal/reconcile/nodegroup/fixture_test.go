// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package nodegroup

import (
	"time"

	"github.com/kube-octavia/kube-octavia/internal/model/owner"
)

var (
	web  = owner.ServiceKey("default", "web")
	noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
)
