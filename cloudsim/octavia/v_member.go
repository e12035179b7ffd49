// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import "net/http"

// reservedAddress is the metadata service's, which no member may have.
const reservedAddress = "169.254.169.254"

// newMember makes a member without putting it into the state.
func (c *Checks) newMember(p *pool, v values) (*member, error) {
	tags, err := newTags(v)
	m := &member{
		object: newObject(c.State.Now(), tags), pool: p,
		name: share(v.text("name")), address: share(v.text("address")),
		port: uint16(v.number("protocol_port", 0)), subnet: share(v.text("subnet_id")),
	}
	if err != nil {
		return nil, duplicateMember(m) // Octavia takes one duplicate for another
	}
	m.oper = noMonitor
	if p.monitor != nil {
		m.oper = offline
	}
	m.setCommon(v)
	if v.text("address") == reservedAddress {
		return nil, invalidOption(reservedAddress, "member address")
	}
	return m, nil
}

// setCommon sets what has a default: what is not given is reset.
func (m *member) setCommon(v values) {
	m.adminUp = v.flag("admin_state_up", true)
	m.weight = uint16(v.number("weight", 1))
	m.backup = v.flag("backup", false)
	m.monitorAddress = share(v.text("monitor_address"))
	m.monitorPort = uint16(v.number("monitor_port", 0))
}

func duplicateMember(m *member) error {
	return faultf(http.StatusConflict, "Another member on this pool is already using ip %s on protocol_port %d", m.address.Value(), m.port)
}

// checkParents refuses changes in a pool that is not ACTIVE itself, or whose
// load balancer is not.
func (p *pool) checkParents() error {
	if p.prov != active {
		return immutable("Pool", p.id.String())
	}
	return checkMutable(p.lb)
}

// change applies an update.
func (m *member) change(v values) error {
	tags, err := newTags(v)
	if err != nil {
		return err
	}
	if tags != nil {
		m.tags = tags
	}
	if v.has("name") {
		m.name = share(v.text("name"))
	}
	m.adminUp = v.flag("admin_state_up", m.adminUp)
	m.backup = v.flag("backup", m.backup)
	if v.has("weight") {
		m.weight = uint16(v.number("weight", 1))
	}
	if v.has("monitor_address") {
		m.monitorAddress = share(v.text("monitor_address"))
	}
	if v.has("monitor_port") {
		m.monitorPort = uint16(v.number("monitor_port", 0))
	}
	return nil
}

// replacement is a PUT of a pool's whole set of members, sorted out.
type replacement struct {
	Batch
	matched []match
}

// match is a member that is there already, and what the request says of it.
type match struct {
	member *member
	values values
}

// newBatch checks a PUT of a pool's whole set of members: they become the given ones,
// matched by address (as a text) and port; with additive nothing is removed. Members
// that are matched are written whether they differ or not. A batch of nothing is nil.
func (c *Checks) newBatch(p *pool, given []values, additive bool) (*Batch, error) {
	b, err := c.sortOut(p, given)
	if err != nil || len(b.Fresh)+len(b.matched)+len(b.Gone) == 0 {
		return nil, err
	}
	more := len(b.Fresh)
	if !additive {
		more -= len(b.Gone)
	}
	if err := c.State.Quotas.Check(p.lb.project, memberQuota, more); err != nil {
		return nil, err
	}
	for _, m := range b.Fresh {
		if err := checkMember(m); err != nil {
			return nil, err
		}
	}
	latest := map[*member]member{} // one may be matched twice
	for _, u := range b.matched {
		changed, ok := latest[u.member]
		if !ok {
			changed = *u.member
		}
		if err := replaceMember(&changed, u.values); err != nil {
			return nil, err
		}
		if err := checkMember(&changed); err != nil {
			return nil, err
		}
		latest[u.member] = changed
		b.Updated = append(b.Updated, MemberUpdate{u.member, changed})
	}
	if additive {
		b.Gone = nil
	}
	return &b.Batch, nil
}

func (c *Checks) sortOut(p *pool, given []values) (replacement, error) {
	type place struct {
		address string
		port    int
	}
	old := make(map[place]*member, len(p.members))
	for _, m := range p.members {
		old[place{m.address.Value(), int(m.port)}] = m
	}
	var b replacement
	seen := make(map[place]bool, len(given))
	for _, v := range given {
		at := place{v.text("address"), v.number("protocol_port", 0)}
		if m := old[at]; m != nil {
			b.Twice = b.Twice || seen[at]
			seen[at] = true
			b.matched = append(b.matched, match{m, v})
			continue
		}
		m, err := c.newMember(p, v)
		if err != nil {
			return b, err
		}
		if seen[at] {
			return b, duplicateMember(m)
		}
		seen[at] = true
		b.Fresh = append(b.Fresh, m)
	}
	for at, m := range old {
		if !seen[at] {
			b.Gone = append(b.Gone, m)
		}
	}
	return b, nil
}

// replaceMember writes the values over the member. Unlike with a PUT of one member,
// what has a default is reset when it is not given.
func replaceMember(m *member, v values) error {
	tags, err := newTags(v)
	if err != nil {
		return err
	}
	m.setCommon(v)
	if v.has("name") {
		m.name = share(v.text("name"))
	}
	if v.has("subnet_id") {
		m.subnet = share(v.text("subnet_id"))
	}
	if tags != nil {
		m.tags = tags
	}
	return nil
}
