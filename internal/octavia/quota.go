// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"context"
	"net/url"

	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// counted are the kinds of objects that have a quota, by the names that refusals
// call them: the attributes of the quota, and the list in which they are counted,
// or "" where there is none of all of a project.
var counted = map[string]struct {
	attributes []string
	list       string
}{
	"Load Balancer":  {[]string{"load_balancer", "loadbalancer"}, "loadbalancers"},
	"Listener":       {[]string{"listener"}, "listeners"},
	"Pool":           {[]string{"pool"}, "pools"},
	"Member":         {[]string{"member"}, ""},
	"Health Monitor": {[]string{"health_monitor", "healthmonitor"}, "healthmonitors"},
}

// Unknown stands for a number that cannot be found out.
const Unknown = -2

// Quota returns how many objects of the kind, by the name that a refusal calls it,
// the project may have, -1 for no limit, and how many it has. Octavia does not
// tell the latter, so that they are counted, in one call per thousand; either may
// be Unknown.
func (c *Client) Quota(ctx context.Context, projectID, kind string) (limit, used int, err error) {
	of, known := counted[kind]
	if !known {
		return Unknown, Unknown, nil
	}
	var answer struct {
		Quota map[string]*int `json:"quota"`
	}
	if err := c.get(ctx, "read the quota of project "+projectID, "quotas/"+url.PathEscape(projectID), nil, &answer); err != nil {
		return Unknown, Unknown, err
	}
	limit = Unknown
	for _, name := range of.attributes {
		if n := answer.Quota[name]; n != nil {
			limit = *n
		}
	}
	if of.list == "" {
		return limit, Unknown, nil
	}
	query := url.Values{"project_id": {projectID}, "fields": {"id", "provisioning_status"}}
	documents, err := list[statusDocument](ctx, c, of.list, query)
	if err != nil {
		return limit, Unknown, err
	}
	for _, d := range documents {
		if d.ProvisioningStatus != lb.Deleted {
			used++
		}
	}
	return limit, used, nil
}

// statusDocument is as much of any object as is needed to count it.
type statusDocument struct {
	ID                 string                `json:"id"`
	ProvisioningStatus lb.ProvisioningStatus `json:"provisioning_status"`
}

func (d statusDocument) id() string { return d.ID }
