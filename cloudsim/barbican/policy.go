// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"slices"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// policy is the default policy of Barbican. Up to 2025.1 it asks for roles of its own, creator, observer and audit, and the roles
// reader and member count for nothing. In the newest release it is the other way round: it asks for member, and reader, creator,
// observer and audit count for nothing.
type policy struct {
	// members is whether the role member counts, in place of Barbican's own.
	members bool
}

func hasOne(who wire.Identity, roles ...string) bool { return slices.ContainsFunc(roles, who.HasRole) }

// creates reports whether the caller has the role that makes secrets and containers, which gives more rights to who made them.
func (p policy) creates(who wire.Identity) bool {
	if p.members {
		return who.HasRole("member")
	}
	return who.HasRole("creator")
}

// mayCreate reports whether the caller may make secrets and containers.
func (p policy) mayCreate(who wire.Identity) bool {
	return p.creates(who) || who.Admin() && !p.members
}

// mayList reports whether the caller may list what its project has.
func (p policy) mayList(who wire.Identity) bool {
	return p.mayCreate(who) || who.HasRole("observer") && !p.members
}

// mayPutPayload reports whether the caller may give the secret its payload.
func (p policy) mayPutPayload(o *object, who wire.Identity) bool {
	if p.members {
		return p.mayChange(o, who)
	}
	return p.mayCreate(who) && o.in(who)
}

// mayRead reports whether the caller may look at the object: when it belongs to
// the object's project, unless the list of access keeps it to its creator, or
// when that list names it. Auditors look, but do not see payloads.
func (p policy) mayRead(o *object, who wire.Identity, payload bool) bool {
	looks := p.mayList(who) || !p.members && !payload && hasOne(who, "audit", "key-manager:service-admin")
	return looks && o.in(who) && !o.private() || p.owns(o, who) || o.admin(who) || o.acl != nil && slices.Contains(o.acl.users, who.UserID)
}

// mayChange reports whether the caller may delete a secret or change who reads an
// object.
func (p policy) mayChange(o *object, who wire.Identity) bool {
	return o.admin(who) || p.owns(o, who) || p.creates(who) && o.in(who) && !o.private()
}

// mayDeleteContainer reports whether the caller may delete the container that the
// object is: only who made it, and admins. In the newest release it is as with secrets.
func (p policy) mayDeleteContainer(o *object, who wire.Identity) bool {
	if p.members {
		return p.mayChange(o, who)
	}
	return o.admin(who) || p.owns(o, who)
}

// mayReadACL reports whether the caller may look at the list of access.
func (p policy) mayReadACL(o *object, who wire.Identity) bool {
	if p.members {
		return p.mayChange(o, who)
	}
	return p.mayList(who) && o.in(who)
}

// owns reports whether the caller made the object.
func (p policy) owns(o *object, who wire.Identity) bool {
	return p.creates(who) && o.in(who) && o.creator == who.UserID
}

func (o *object) in(who wire.Identity) bool { return o.project == who.ProjectID }

func (o *object) admin(who wire.Identity) bool { return who.Admin() && o.in(who) }

func (o *object) private() bool { return o.acl != nil && !o.acl.projectAccess }
