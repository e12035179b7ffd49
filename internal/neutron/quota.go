// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"context"
	"net/url"

	"github.com/kube-octavia/kube-octavia/internal/openstack"
)

// ProjectID is the project that the Client acts in.
func (c *Client) ProjectID() string { return c.projectID }

// Quota returns how many objects of the kind, such as "floatingip", the project
// may have, -1 for no limit, and how many it has, in one call. False means that
// Neutron does not tell.
func (c *Client) Quota(ctx context.Context, kind string) (limit, used int, known bool, err error) {
	var answer struct {
		Quota map[string]struct{ Limit, Used *int } `json:"quota"`
	}
	path := c.service.ServiceURL("quotas", url.PathEscape(c.projectID), "details.json")
	if _, err := c.service.Get(ctx, path, &answer, nil); err != nil {
		return 0, 0, false, openstack.Wrap("read the quota of project "+c.projectID, err)
	}
	found, there := answer.Quota[kind]
	if !there || found.Limit == nil || found.Used == nil {
		return 0, 0, false, nil
	}
	return *found.Limit, *found.Used, true, nil
}
