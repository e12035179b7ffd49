// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"fmt"
	"regexp"
	"strings"
)

// serverID is the form of Nova's ids.
var serverID = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// ServerID returns the id of the server of a node from its spec.providerID: openstack:///ID, openstack://REGION/ID
// or, for nodes of old clusters, /ID. The error says what is wrong with another one.
func ServerID(providerID string) (string, error) {
	const scheme = "openstack://"
	if providerID == "" {
		return "", fmt.Errorf("spec.providerID is empty; the node's cloud controller has to set it to openstack:///ID, with the id of the server")
	}
	rest, ok := strings.CutPrefix(providerID, scheme)
	if !ok && strings.Contains(providerID, "://") {
		return "", fmt.Errorf("spec.providerID %q is not of OpenStack", providerID)
	}
	_, id, slash := strings.Cut(rest, "/")
	id = strings.ToLower(id)
	if !slash || !serverID.MatchString(id) {
		return "", fmt.Errorf("spec.providerID %q does not have the form openstack:///ID with the id of a server", providerID)
	}
	return id, nil
}
