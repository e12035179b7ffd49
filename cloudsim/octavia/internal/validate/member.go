// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/fault"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/provider"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/schema"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/state"
)

// checkReserved refuses reserved addresses. Octavia's message has them in upper case and uncompressed.
func (c *Checks) checkReserved(text string) error {
	address, err := netip.ParseAddr(text)
	if err != nil || !slices.Contains(c.ReservedIPs, address) {
		return nil
	}
	return fault.InvalidOption(strings.ToUpper(address.StringExpanded()), "member address")
}

// NewMember makes a member without adding it to the state.
func (c *Checks) NewMember(p *model.Pool, v schema.Values) (*model.Member, error) {
	tags, err := newTags(v)
	m := &model.Member{
		Object: model.NewObject(c.State.Now(), tags), Pool: p,
		Name: model.Share(v.Text("name")), Address: model.Share(v.Text("address")),
		Port: uint16(v.Number("protocol_port", 0)), Subnet: model.Share(v.Text("subnet_id")),
	}
	if err != nil {
		return nil, DuplicateMember(m) // Octavia reports any duplicate like this
	}
	m.Operating = model.NoMonitor
	if p.Monitor != nil {
		m.Operating = model.Offline
	}
	setMemberDefaults(m, v)
	// An update of all members ignores it for existing members.
	m.SRIOV = v.Flag("request_sriov", false)
	if m.SRIOV && !c.FlavorHas(p.LB.Flavor, provider.SRIOVForMembers) {
		return nil, fault.New(http.StatusBadRequest, "The load balancer flavor does not allow SR-IOV member ports.")
	}
	if err := c.checkReserved(v.Text("address")); err != nil {
		return nil, err
	}
	return m, nil
}

// FlavorHas reports whether a property of the flavor is true. The flavor may be empty.
func (c *Checks) FlavorHas(flavor, property string) bool {
	f, found := c.State.Flavors.Find(flavor)
	if !found {
		return false
	}
	profile, found := c.State.FlavorProfiles.Find(f.Profile.String())
	var data map[string]any
	return found && json.Unmarshal([]byte(profile.Data), &data) == nil && data[property] == true
}

// setMemberDefaults sets the attributes that have a default: those that are not given are reset.
func setMemberDefaults(m *model.Member, v schema.Values) {
	m.AdminUp = v.Flag("admin_state_up", true)
	m.Weight = uint16(v.Number("weight", 1))
	m.Backup = v.Flag("backup", false)
	m.MonitorAddress = model.Share(v.Text("monitor_address"))
	m.MonitorPort = uint16(v.Number("monitor_port", 0))
}

// DuplicateMember returns the fault of a second member with the same address and port.
func DuplicateMember(m *model.Member) error {
	return fault.New(http.StatusConflict, "Another member on this pool is already using ip %s on protocol_port %d", m.Address.Value(), m.Port)
}

// CheckPoolParents refuses changes of the parts of a pool if the pool or its load balancer is not
// ACTIVE.
func CheckPoolParents(p *model.Pool) error {
	if p.Provisioning != model.Active {
		return fault.Immutable("Pool", p.ID.String())
	}
	return CheckMutable(p.LB)
}

// ChangeMember applies an update.
func ChangeMember(m *model.Member, v schema.Values) error {
	tags, err := newTags(v)
	if err != nil {
		return err
	}
	if tags != nil {
		m.Tags = tags
	}
	if v.Has("name") {
		m.Name = model.Share(v.Text("name"))
	}
	m.AdminUp = v.Flag("admin_state_up", m.AdminUp)
	m.Backup = v.Flag("backup", m.Backup)
	if v.Has("weight") {
		m.Weight = uint16(v.Number("weight", 1))
	}
	if v.Has("monitor_address") {
		m.MonitorAddress = model.Share(v.Text("monitor_address"))
	}
	if v.Has("monitor_port") {
		m.MonitorPort = uint16(v.Number("monitor_port", 0))
	}
	return nil
}

// replacement is a PUT of all members of a pool, sorted by what happens to them.
type replacement struct {
	state.Batch
	matched []match
}

// match is an existing member, and its values in the request.
type match struct {
	member *model.Member
	values schema.Values
}

// NewBatch checks a PUT of all members of a pool, which replaces them with the given ones. Members
// are matched by address (as text) and port. With additive no member is removed. Matching members
// are written even if nothing differs. An empty batch is nil.
func (c *Checks) NewBatch(p *model.Pool, given []schema.Values, additive bool) (*state.Batch, error) {
	b, err := c.sortOut(p, given)
	if err != nil || len(b.Fresh)+len(b.matched)+len(b.Gone) == 0 {
		return nil, err
	}
	more := len(b.Fresh)
	if !additive {
		more -= len(b.Gone)
	}
	if err := c.State.Quotas.Check(p.LB.Project, model.MemberQuota, more); err != nil {
		return nil, err
	}
	for _, m := range b.Fresh {
		if err := provider.CheckMember(m); err != nil {
			return nil, err
		}
	}
	latest := map[*model.Member]model.Member{} // one may be matched twice
	for _, u := range b.matched {
		changed, ok := latest[u.member]
		if !ok {
			changed = *u.member
		}
		if err := replaceMember(&changed, u.values); err != nil {
			return nil, err
		}
		if err := provider.CheckMember(&changed); err != nil {
			return nil, err
		}
		latest[u.member] = changed
		b.Updated = append(b.Updated, state.MemberUpdate{Member: u.member, Changed: changed})
	}
	if additive {
		b.Gone = nil
	}
	return &b.Batch, nil
}

func (c *Checks) sortOut(p *model.Pool, given []schema.Values) (replacement, error) {
	type place struct {
		address string
		port    int
	}
	old := make(map[place]*model.Member, len(p.Members))
	for _, m := range p.Members {
		old[place{m.Address.Value(), int(m.Port)}] = m
	}
	var b replacement
	seen := make(map[place]bool, len(given))
	for _, v := range given {
		at := place{v.Text("address"), v.Number("protocol_port", 0)}
		if m := old[at]; m != nil {
			b.Duplicate = b.Duplicate || seen[at]
			seen[at] = true
			b.matched = append(b.matched, match{m, v})
			continue
		}
		m, err := c.NewMember(p, v)
		if err != nil {
			return b, err
		}
		if seen[at] {
			return b, DuplicateMember(m)
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

// replaceMember applies the values to the member. Unlike a PUT of a single member, it resets
// attributes with a default that are not given.
func replaceMember(m *model.Member, v schema.Values) error {
	tags, err := newTags(v)
	if err != nil {
		return err
	}
	setMemberDefaults(m, v)
	if v.Has("name") {
		m.Name = model.Share(v.Text("name"))
	}
	if v.Has("subnet_id") {
		m.Subnet = model.Share(v.Text("subnet_id"))
	}
	if tags != nil {
		m.Tags = tags
	}
	return nil
}
