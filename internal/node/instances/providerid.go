// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package instances

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// providerName is the scheme of the provider ids of OpenStack.
const providerName = "openstack"

// ProviderID is spec.providerID of a Node: openstack:///SERVER or openstack://REGION/SERVER.
type ProviderID struct {
	// Region is empty if the id has none.
	Region string
	// Server is the id of the server, in lower case as in Nova. It is empty for a Node that has no provider id
	// yet.
	Server string
}

// ErrOtherCloud is the error for provider ids with another scheme.
var ErrOtherCloud = errors.New("the provider id is not one of OpenStack")

// ParseProviderID parses a provider id. An id without a scheme, such as /SERVER, is treated as one of OpenStack: old
// versions of kubelet wrote such ids. Upper case becomes lower case, because firmware may present the id of a server in
// upper case. An empty text is an empty id. The error wraps ErrOtherCloud if the id has another scheme.
func ParseProviderID(text string) (ProviderID, error) {
	if text == "" {
		return ProviderID{}, nil
	}
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		scheme, rest = providerName, text
	}
	if scheme != providerName {
		return ProviderID{}, fmt.Errorf("%w: %s", ErrOtherCloud, text)
	}
	region, server, found := strings.Cut(rest, "/")
	if !found || server == "" || strings.Contains(server, "/") {
		return ProviderID{}, fmt.Errorf("provider id %q: must be openstack:///SERVER or openstack://REGION/SERVER", text)
	}
	return ProviderID{Region: region, Server: strings.ToLower(server)}, nil
}

// String returns the text of the id.
func (p ProviderID) String() string { return providerName + "://" + p.Region + "/" + p.Server }

// OwnID returns the provider id of a Node, or nil for a Node of another cloud or region. An id without a region belongs
// to the region in the Node's label: cloud providers set both when they initialize a Node.
func OwnID(node *corev1.Node, region string) (*ProviderID, error) {
	id, err := parseOwn(node.Spec.ProviderID, region)
	label := node.Labels[corev1.LabelTopologyRegion]
	if id != nil && id.Server != "" && id.Region == "" && label != "" && region != "" && label != region {
		return nil, nil
	}
	return id, err
}

// IsOwn returns whether a Node is not one of another cloud or region.
func IsOwn(region string) func(*corev1.Node) bool {
	return func(node *corev1.Node) bool {
		id, err := OwnID(node, region)
		return id != nil || err != nil
	}
}

// parseOwn parses a provider id. It returns nil for one of another cloud or region.
func parseOwn(text, region string) (*ProviderID, error) {
	id, err := ParseProviderID(text)
	switch {
	case errors.Is(err, ErrOtherCloud):
		return nil, nil
	case err != nil:
		return nil, err
	case id.Region != "" && id.Region != region:
		return nil, nil
	}
	return &id, nil
}
