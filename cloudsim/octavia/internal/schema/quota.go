// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
)

// QuotaAttributes returns the attributes of a quota in a request.
func QuotaAttributes() []Attribute {
	var all []Attribute
	for _, n := range model.QuotaNames {
		since := 0
		if n.Attribute == "l7policy" || n.Attribute == "l7rule" {
			since = 19
		}
		all = append(all, Attribute{name: n.Attribute, kind: numberKind, min: -1, max: 2000000000, since: since})
		if n.Older != "" {
			all = append(all, Attribute{name: n.Older, kind: numberKind, min: -1, max: 2000000000})
		}
	}
	return all
}
