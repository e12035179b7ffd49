// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// NodeSelector has the labels that a node must have. An empty value matches any value.
type NodeSelector map[string]string

// ParseNodeSelector parses labels in the format of openstack-cloud-controller-manager: "zone=a,disk=ssd,gpu". A key
// without a value, with "=" or without, requires the label with any value. Blanks are ignored, and an empty text
// selects all nodes.
func ParseNodeSelector(text string) (NodeSelector, error) {
	selector := NodeSelector{}
	for part := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		key, label, _ := strings.Cut(part, "=")
		key, label = strings.TrimSpace(key), strings.TrimSpace(label)
		if wrong := validation.IsQualifiedName(key); len(wrong) > 0 {
			return nil, fmt.Errorf("%q is not a valid label key: %s", key, wrong[0])
		}
		if wrong := validation.IsValidLabelValue(label); len(wrong) > 0 {
			return nil, fmt.Errorf("%q is not a valid label value: %s", label, wrong[0])
		}
		if other, there := selector[key]; there && other != label {
			return nil, fmt.Errorf("label %s is listed twice", key)
		}
		selector[key] = label
	}
	return selector, nil
}

// Matches reports whether a node with these labels is selected.
func (s NodeSelector) Matches(labels map[string]string) bool {
	for key, wanted := range s {
		if is, there := labels[key]; !there || wanted != "" && is != wanted {
			return false
		}
	}
	return true
}
