// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package instances

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// hostIDLabel has the id of the physical host, so that Pods can be spread over hosts.
const hostIDLabel = "topology.openstack.org/host-id"

// additionalLabels returns the labels that only Nodes of OpenStack have.
func additionalLabels(server Server) map[string]string {
	host := LabelValue(server.HostID)
	if host == "" {
		return nil
	}
	return map[string]string{hostIDLabel: host}
}

var notInLabels = regexp.MustCompile(`[^-a-zA-Z0-9_.]+`)

// LabelValue converts a text to the value of a label: it replaces characters that are not allowed with hyphens and
// keeps the first 63. So zone "nova 1" becomes nova-1.
func LabelValue(text string) string {
	const ends = "-_."
	value := strings.Trim(notInLabels.ReplaceAllString(text, "-"), ends)
	if len(value) > validation.LabelValueMaxLength {
		value = strings.Trim(value[:validation.LabelValueMaxLength], ends)
	}
	return value
}

func isLabelValue(text string) bool {
	return text != "" && len(validation.IsValidLabelValue(text)) == 0
}

// instanceType returns the name of a flavor, or its id if the name cannot be a label. Only the name of a deleted flavor
// is known, so characters that are not allowed in a label become hyphens.
func instanceType(name string, ids map[string]string) string {
	if id := ids[name]; !isLabelValue(name) && isLabelValue(id) {
		return id
	}
	return LabelValue(name)
}
