// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"slices"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// The policy is the default of Barbican 15, which asks for roles of its own:
// creator, observer and audit. The roles reader and member count for nothing.

func hasOne(who wire.Identity, roles ...string) bool { return slices.ContainsFunc(roles, who.HasRole) }

// mayCreate reports whether the caller may make secrets and containers.
func mayCreate(who wire.Identity) bool { return hasOne(who, "admin", "creator") }

// mayList reports whether the caller may list what its project has.
func mayList(who wire.Identity) bool { return hasOne(who, "admin", "observer", "creator") }

// mayRead reports whether the caller may look at the object: when it belongs to
// the object's project, unless the list of access keeps it to its creator, or
// when that list names it. Auditors look, but do not see payloads.
func (o *object) mayRead(who wire.Identity, payload bool) bool {
	roles := []string{"admin", "observer", "creator"}
	if !payload {
		roles = append(roles, "audit", "key-manager:service-admin")
	}
	return hasOne(who, roles...) && o.in(who) && !o.private() || o.owns(who) || o.admin(who) || o.acl != nil && slices.Contains(o.acl.users, who.UserID)
}

// mayChange reports whether the caller may delete a secret or change who reads an
// object.
func (o *object) mayChange(who wire.Identity) bool {
	return o.admin(who) || o.owns(who) || who.HasRole("creator") && o.in(who) && !o.private()
}

// mayDeleteContainer reports whether the caller may delete the container that the
// object is: only who made it, and admins.
func (o *object) mayDeleteContainer(who wire.Identity) bool { return o.admin(who) || o.owns(who) }

// mayReadACL reports whether the caller may look at the list of access.
func (o *object) mayReadACL(who wire.Identity) bool { return mayList(who) && o.in(who) }

func (o *object) in(who wire.Identity) bool { return o.project == who.ProjectID }

func (o *object) owns(who wire.Identity) bool {
	return who.HasRole("creator") && o.in(who) && o.creator == who.UserID
}

func (o *object) admin(who wire.Identity) bool { return who.Admin() && o.in(who) }

func (o *object) private() bool { return o.acl != nil && !o.acl.projectAccess }
