// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"slices"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// policy is the default policy of Barbican. Up to 2025.1 it requires Barbican's own roles creator, observer and audit,
// and ignores the roles reader and member. In the newest release it requires member, and ignores reader, creator,
// observer and audit.
type policy struct {
	// members is true if the role member counts instead of Barbican's own roles.
	members bool
}

func hasOne(who wire.Identity, roles ...string) bool { return slices.ContainsFunc(roles, who.HasRole) }

// creates reports whether the caller has the role that may create secrets and containers. Creators need it for their
// additional rights, too.
func (p policy) creates(who wire.Identity) bool {
	if p.members {
		return who.HasRole("member")
	}
	return who.HasRole("creator")
}

// mayCreate reports whether the caller may create secrets and containers.
func (p policy) mayCreate(who wire.Identity) bool {
	return p.creates(who) || who.Admin() && !p.members
}

// mayList reports whether the caller may list the objects of its project.
func (p policy) mayList(who wire.Identity) bool {
	return p.mayCreate(who) || who.HasRole("observer") && !p.members
}

// mayPutPayload reports whether the caller may set the payload of the secret.
func (p policy) mayPutPayload(o *object, who wire.Identity) bool {
	if p.members {
		return p.mayChange(o, who)
	}
	return p.mayCreate(who) && o.in(who)
}

// mayRead reports whether the caller may read the object: if it belongs to the object's project,
// unless the ACL restricts the object to its creator, or if the ACL names it. Auditors do not see
// payloads.
func (p policy) mayRead(o *object, who wire.Identity, payload bool) bool {
	looks := p.mayList(who) || !p.members && !payload && hasOne(who, "audit", "key-manager:service-admin")
	return looks && o.in(who) && !o.private() || p.owns(o, who) || o.admin(who) || o.acl != nil && slices.Contains(o.acl.users, who.UserID)
}

// mayChange reports whether the caller may delete a secret or change the ACL of an object.
func (p policy) mayChange(o *object, who wire.Identity) bool {
	return o.admin(who) || p.owns(o, who) || p.creates(who) && o.in(who) && !o.private()
}

// mayDeleteContainer reports whether the caller may delete the container: only its creator and
// admins. In the newest release the rule is that of secrets.
func (p policy) mayDeleteContainer(o *object, who wire.Identity) bool {
	if p.members {
		return p.mayChange(o, who)
	}
	return o.admin(who) || p.owns(o, who)
}

// mayReadACL reports whether the caller may read the ACL.
func (p policy) mayReadACL(o *object, who wire.Identity) bool {
	if p.members {
		return p.mayChange(o, who)
	}
	return p.mayList(who) && o.in(who)
}

// owns reports whether the caller created the object.
func (p policy) owns(o *object, who wire.Identity) bool {
	return p.creates(who) && o.in(who) && o.creator == who.UserID
}

func (o *object) in(who wire.Identity) bool { return o.project == who.ProjectID }

func (o *object) admin(who wire.Identity) bool { return who.Admin() && o.in(who) }

func (o *object) private() bool { return o.acl != nil && !o.acl.projectAccess }
