// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	gophercloudopenstack "github.com/gophercloud/gophercloud/v2/openstack"

	"github.com/kube-octavia/kube-octavia/internal/cloud/decoding"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// explainRefusal finds out whether Keystone rejects the project of a login by password, if the options request this.
// Keystone's answer is the same for a wrong password and for a project in which the user has no role.
func (s *Session) explainRefusal(ctx context.Context, o Options, l login, err error) error {
	g := o.Config
	var e *Error
	if !o.ExamineRefusal || g.Authentication() != config.ByPassword || cmp.Or(g.TenantID, g.TenantName) == "" || !errors.As(err, &e) || e.Class != Unauthorized {
		return err
	}
	has, failure := s.projectsOf(over(ctx, l.transport), g)
	switch {
	case failure != nil && Classify(Wrap("", failure)) != Unauthorized:
		return err // it is unknown which of the two it rejects
	case failure != nil:
		e.Advice = "check in [Global] the user with its domain, and the password: Keystone rejects them without the project, too. If they are right, the user is disabled or locked"
		return e
	}
	e.Message = fmt.Sprintf("Keystone accepts user and password, but not project %s: it does not exist or is disabled, or the user has no role in it", cmp.Or(g.TenantID, g.TenantName))
	const assign = "`openstack role add --user USER --project PROJECT member`"
	if len(has) == 0 {
		e.Advice = "the user has no role in any project: let an administrator assign one: " + assign
		return e
	}
	e.Advice = fmt.Sprintf("set tenant-id in [Global] to a project in which the user has a role, and remove tenant-name: %s; or let an administrator assign a role: %s", strings.Join(has, ", "), assign)
	return e
}

// projectsOf logs in without a project and returns the projects in which the user has a role, as "id (name)".
func (s *Session) projectsOf(ctx context.Context, g config.Global) ([]string, error) {
	options := authOptions(g)
	options.Scope = nil
	client, err := gophercloudopenstack.NewClient(options.IdentityEndpoint)
	if err != nil {
		return nil, err
	}
	client.HTTPClient, client.UserAgent = s.provider.HTTPClient, s.provider.UserAgent
	if err := gophercloudopenstack.AuthenticateV3(ctx, client, &options, gophercloud.EndpointOpts{}); err != nil {
		return nil, err
	}
	keystone := &gophercloud.ServiceClient{ProviderClient: client, Endpoint: client.IdentityBase + "v3/", Type: "identity"}
	var answer struct {
		Projects []struct {
			ID      string `json:"id"`
			Name    string `json:"name"`
			Enabled bool   `json:"enabled"`
		} `json:"projects"`
	}
	if _, err := keystone.Get(ctx, keystone.ServiceURL("auth", "projects"), decoding.Into(&answer), nil); err != nil {
		return nil, nil // the login was accepted, which is what matters
	}
	var all []string
	for _, p := range answer.Projects {
		if p.Enabled {
			all = append(all, fmt.Sprintf("%s (%s)", p.ID, p.Name))
		}
	}
	slices.Sort(all)
	return all, nil
}

// fileAdvice returns what to do about an unusable file that cloud.conf names.
func fileAdvice(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "correct the path in [Global]; in a Pod, the file must be in a volume"
	case errors.Is(err, fs.ErrPermission):
		return "allow the user of this program to read the file"
	}
	return "correct the file that the message names, or its path in [Global]"
}
