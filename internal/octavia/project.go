// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"context"
	"net/url"
)

// ProjectHeads lists all load balancers of the project, with one call per thousand. Their tags are nil. Octavia accepts
// one provisioning_status as a filter, and fails on several: with one, each load balancer that is not PENDING any more
// would take another call.
func (c *Client) ProjectHeads(ctx context.Context, projectID string) ([]Head, error) {
	return c.heads(ctx, url.Values{"project_id": {projectID}, "fields": {"id", "provisioning_status", "updated_at"}})
}
