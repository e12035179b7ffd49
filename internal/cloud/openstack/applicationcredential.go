// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"

	"github.com/kube-octavia/kube-octavia/internal/cloud/accessrule"
	"github.com/kube-octavia/kube-octavia/internal/cloud/calls"
	"github.com/kube-octavia/kube-octavia/internal/cloud/decoding"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// ApplicationCredential lets a program act for a user in one project, with some of the user's roles.
type ApplicationCredential struct {
	// ID and Name are Keystone's. Names are unique per user.
	ID, Name string
	// Description is a description for users.
	Description string
	// Secret is only known right after the creation.
	Secret config.Secret
	// ProjectID is the project that it gives access to.
	ProjectID string
	// Roles are names of roles. In a request, none means all roles of the login.
	Roles []string
	// Without has the features whose calls it does not allow.
	Without []calls.Feature
	// Expires is the time of its expiry; the zero time means never.
	Expires time.Time
}

type applicationCredentialDocument struct {
	Credential struct {
		ID          string         `json:"id"`
		Name        string         `json:"name"`
		Description string         `json:"description"`
		Secret      string         `json:"secret"`
		ProjectID   string         `json:"project_id"`
		ExpiresAt   keystoneTime   `json:"expires_at"`
		Roles       []roleDocument `json:"roles"`
		AccessRules accessRules    `json:"access_rules"`
	} `json:"application_credential"`
}

func (d applicationCredentialDocument) model() ApplicationCredential {
	c := d.Credential
	without, _ := accessrule.Without(c.AccessRules.missing())
	return ApplicationCredential{Without: without, ID: c.ID, Name: c.Name, Description: c.Description, Secret: config.Secret(c.Secret),
		ProjectID: c.ProjectID, Expires: time.Time(c.ExpiresAt), Roles: roleNames(c.Roles)}
}

// CreateApplicationCredential creates an application credential of the login's user, for the project of the
// login. It allows only the calls of package calls, except those of wanted.Without.
func (s *Session) CreateApplicationCredential(ctx context.Context, wanted ApplicationCredential) (ApplicationCredential, error) {
	op := "create application credential " + wanted.Name
	path, err := s.applicationCredentials()
	if err != nil {
		return ApplicationCredential{}, Wrap(op, err)
	}
	options := applicationcredentials.CreateOpts{Name: wanted.Name, Description: wanted.Description, AccessRules: accessrule.Rules(s.roots(), wanted.Without...)}
	for _, role := range wanted.Roles {
		options.Roles = append(options.Roles, applicationcredentials.Role{Name: role})
	}
	if !wanted.Expires.IsZero() {
		expires := wanted.Expires.UTC()
		options.ExpiresAt = &expires
	}
	body, err := options.ToApplicationCredentialCreateMap()
	if err != nil {
		return ApplicationCredential{}, Wrap(op, err)
	}
	var answer applicationCredentialDocument
	if _, err := s.identity().Post(ctx, path, body, decoding.Into(&answer), nil); err != nil {
		return ApplicationCredential{}, perhapsMade(onlyPeople(Wrap(op, err)), wanted.Name)
	}
	made := answer.model()
	if made.ID == "" || made.Secret == "" {
		return made, perhapsMade(Unreadable(op, "no id or no secret"), wanted.Name)
	}
	return made, nil
}

// perhapsMade adds, to an error after which the application credential may exist, how to find out. The credential
// is not deleted here: one with that name may have existed before.
func perhapsMade(err error, name string) error {
	var e *Error
	if errors.As(err, &e) && e.Unanswered {
		e.Message += fmt.Sprintf("; it may exist anyway, with an unknown secret: look for the name %s in "+
			"`openstack application credential list`, and delete it with `kube-octavia credential delete ID`", name)
	}
	return err
}

// ApplicationCredential reads an application credential of the login's user. If it does not exist, the error is of
// class Gone.
func (s *Session) ApplicationCredential(ctx context.Context, id string) (ApplicationCredential, error) {
	op := "read application credential " + id
	path, err := s.applicationCredentials()
	if err != nil {
		return ApplicationCredential{}, Wrap(op, err)
	}
	var answer applicationCredentialDocument
	_, err = s.identity().Get(ctx, path+"/"+id, decoding.Into(&answer), nil)
	return answer.model(), onlyPeople(Wrap(op, err))
}

// DeleteApplicationCredential deletes an application credential of the login's user. All its tokens become
// invalid.
func (s *Session) DeleteApplicationCredential(ctx context.Context, id string) error {
	op := "delete application credential " + id
	path, err := s.applicationCredentials()
	if err != nil {
		return Wrap(op, err)
	}
	_, err = s.identity().Delete(ctx, path+"/"+id, nil)
	return onlyPeople(Wrap(op, err))
}

// applicationCredentials returns the URL of the application credentials of the login's user.
func (s *Session) applicationCredentials() (string, error) {
	var t tokenDocument
	if err := s.readToken(&t); err != nil {
		return "", err
	}
	return s.identity().ServiceURL("users", t.User.ID, "application_credentials"), nil
}

// Roles returns the names of the roles of the login in its project.
func (s *Session) Roles() []string {
	var t struct {
		Roles []roleDocument `json:"roles"`
	}
	if s.readToken(&t) != nil {
		return nil
	}
	return roleNames(t.Roles)
}

type roleDocument struct {
	Name string `json:"name"`
}

func roleNames(roles []roleDocument) []string {
	var names []string
	for _, role := range roles {
		names = append(names, role.Name)
	}
	slices.Sort(names)
	return names
}

// roots returns the addresses of the services, by type, without the version of their API.
func (s *Session) roots() map[string]string {
	roots := map[string]string{
		calls.ServiceIdentity: s.provider.IdentityBase, calls.ServiceNetwork: s.Network().Endpoint, calls.ServiceLoadBalancer: s.LoadBalancer().Endpoint,
	}
	if barbican := s.KeyManager(); barbican != nil {
		roots[calls.ServiceKeyManager] = barbican.Endpoint
	}
	if nova, err := s.services.Compute(""); err == nil {
		roots[calls.ServiceCompute] = nova.Endpoint
	}
	return roots
}

// onlyPeople adds, to the refusal of a login that may not manage application credentials, what to do instead. Keystone
// answers with 403 or, since 2025.1, with 401, because it enforces access rules on its own calls, too. No application
// credential that this program creates can do this.
func onlyPeople(err error) error {
	var e *Error
	if !errors.As(err, &e) || !Denied(err) {
		return err
	}
	if e.Rejected {
		e.Message, e.Advice = "Keystone accepts these credentials, but not for this call.", ""
	}
	e.Message += " Log in as a user, with a password: an application credential can create and delete others only if it is unrestricted, " +
		"and a trust cannot."
	return err
}

// MissingRules returns the calls of the program that the access rules of the application credential in use do not
// allow, because it was created for an older version or without some features. Credentials without access rules allow every call.
func (s *Session) MissingRules() []calls.Call {
	var t struct {
		ApplicationCredential struct {
			AccessRules accessRules `json:"access_rules"`
		} `json:"application_credential"`
	}
	if err := s.readToken(&t); err != nil {
		return nil
	}
	return t.ApplicationCredential.AccessRules.missing()
}

// MayCall reports whether the access rules of the application credential in use allow the calls of the program with the
// path. A call that they do not allow would only cause a renewal of the token.
func (s *Session) MayCall(path string) bool {
	return !slices.ContainsFunc(s.MissingRules(), func(c calls.Call) bool { return c.Path == path })
}

// accessRules are the rules of an application credential; nil means that it has none and allows every call.
type accessRules []applicationcredentials.AccessRule

func (r accessRules) missing() []calls.Call {
	if r == nil {
		return nil
	}
	return accessrule.Missing(r)
}
