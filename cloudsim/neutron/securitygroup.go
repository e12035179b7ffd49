// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"net/http"
	"slices"
	"strings"

	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

func (s *Service) securityGroupResource() *resource {
	res := &resource{one: "security_group", many: "security_groups", path: "security-groups", taggable: true, startsOver: true, missing: groupMissing}
	res.attributes = withStandard(attributes{
		"name":                 {post: true, put: true, filter: true, sort: true, check: isString(255)},
		"stateful":             {post: true, put: true, filter: true, sort: true, check: isBool},
		"shared":               {filter: true},
		"security_group_rules": {},
	})
	res.find = func(c wire.Identity, id string) (object, bool) {
		if g := s.groups[id]; g != nil && owns(c, g.project) {
			return g, true
		}
		return nil, false
	}
	res.add = func(_ wire.Identity, v values) (string, error) {
		if strings.EqualFold(v.text("name"), "default") {
			return "", conflict("SecurityGroupDefaultAlreadyExists", "Default security group already exists.")
		}
		s.ensureDefaultGroup(v.text("project_id"))
		// Its two egress rules count as well.
		if err := s.checkQuota(v.text("project_id"), "security_group_rule", 2); err != nil {
			return "", err
		}
		return s.newGroup("", v.text("project_id"), v.text("name"), v.text("description"), v.flag("stateful", true)).id, nil
	}
	res.set = s.setGroup
	res.remove = func(c wire.Identity, id string) error { return s.removeGroup(c, s.groups[id]) }
	res.show = func(_ wire.Identity, id string) any { return s.viewGroup(s.groups[id]) }
	res.list = func(c wire.Identity, r *http.Request) func(http.ResponseWriter) {
		s.ensureDefaultGroup(askedProject(c, r))
		var views []*securityGroupView
		for _, g := range s.groups {
			if owns(c, g.project) {
				views = append(views, s.viewGroup(g))
			}
		}
		if s.options.Release >= release.Epoxy && r.URL.Query().Has("fields") {
			forgetDefault(views)
		}
		return writeList(res, s.options.MaxPage, r, views, nil)
	}
	return res
}

// forgetDefault clears the field of rules that shows whether their group is a default one: it is null in a list of
// selected fields of groups.
func forgetDefault(groups []*securityGroupView) {
	for _, g := range groups {
		for _, rule := range g.Rules {
			rule.OfDefault = (*bool)(nil)
		}
	}
}

// askedProject returns the project of a list of security groups. Neutron creates its default group
// if there is none yet.
func askedProject(c wire.Identity, r *http.Request) string {
	for _, name := range []string{"project_id", "tenant_id"} {
		if id := r.URL.Query().Get(name); id != "" && c.Admin() {
			return id
		}
	}
	return c.ProjectID
}

func groupMissing(id string) *apiError {
	return notFound("SecurityGroupNotFound", "Security group %s does not exist", id)
}

func (s *Service) viewGroup(g *securityGroup) *securityGroupView {
	v := &securityGroupView{standardView: g.view(), Name: g.name, Tags: g.tags, Stateful: g.stateful, Rules: []*ruleOfGroup{}}
	for _, id := range g.rules {
		rule := s.rules[id]
		v.Rules = append(v.Rules, &ruleOfGroup{s.viewRule(rule), rule.tags, rule.number})
	}
	return v
}

// newGroup creates a security group that allows all egress.
func (s *Service) newGroup(id, project, name, description string, stateful bool) *securityGroup {
	g := &securityGroup{standard: s.newStandard(id, project, name, description, nil), stateful: stateful}
	s.groups[g.id] = g
	for _, ethertype := range []string{"IPv4", "IPv6"} {
		s.newRule(g, securityGroupRule{direction: "egress", ethertype: ethertype})
	}
	return g
}

// ensureDefaultGroup returns the id of the project's default security group, which it creates if
// there is none. The empty project has none.
func (s *Service) ensureDefaultGroup(project string) string {
	if project == "" {
		return ""
	}
	if id := s.defaultGroup[project]; id != "" {
		return id
	}
	g := s.newGroup("", project, "default", "Default security group", true)
	for _, ethertype := range []string{"IPv4", "IPv6"} {
		s.newRule(g, securityGroupRule{direction: "ingress", ethertype: ethertype, remote: g.id})
	}
	s.defaultGroup[project] = g.id
	return g.id
}

func (s *Service) groupInUse(id string) bool {
	for _, p := range s.ports {
		if slices.Contains(p.groups, id) {
			return true
		}
	}
	return false
}

func groupInUse(id string) *apiError {
	return conflict("SecurityGroupInUse", "Security Group %s in use.", id)
}

func (s *Service) setGroup(_ wire.Identity, id string, v values) error {
	g := s.groups[id]
	switch {
	case v.flag("stateful", g.stateful) != g.stateful && s.groupInUse(id):
		return groupInUse(id)
	case v.has("name") && s.defaultGroup[g.project] == id:
		return conflict("SecurityGroupCannotUpdateDefault", "Updating default security group not allowed.")
	case strings.EqualFold(v.text("name"), "default"):
		return conflict("SecurityGroupDefaultAlreadyExists", "Default security group already exists.")
	}
	v.set("name", &g.name)
	v.setFlag("stateful", &g.stateful)
	return nil
}

func (s *Service) removeGroup(c wire.Identity, g *securityGroup) error {
	isDefault := s.defaultGroup[g.project] == g.id
	switch {
	case s.groupInUse(g.id):
		return groupInUse(g.id)
	case isDefault && !c.Admin():
		return conflict("SecurityGroupCannotRemoveDefault", "Insufficient rights for removing default security group.")
	}
	if isDefault {
		delete(s.defaultGroup, g.project)
	}
	s.dropGroup(g)
	return nil
}

// dropGroup removes a group, its rules, and the rules of other groups that refer to it.
func (s *Service) dropGroup(g *securityGroup) {
	for _, id := range g.rules {
		delete(s.rules, id)
	}
	for _, rule := range inOrder(s.rules, func(r *securityGroupRule) bool { return r.remote == g.id }) {
		s.removeRule(rule)
	}
	delete(s.groups, g.id)
}
