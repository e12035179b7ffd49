// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package nodegroup

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/config"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
	"github.com/kube-octavia/kube-octavia/internal/securitygroup"
)

// serviceClaim is what one Service claims, of the cluster's group or of its own.
type serviceClaim struct {
	securitygroup.Claim
	owner lb.Owner
	// released is whether the Service has nothing else in the cloud any more.
	released bool
	// only are the nodes that the Service selects, nil for all; unread is whether what it
	// selects cannot be read.
	only   []string
	unread bool
	// keep are ports whose rules in a group of its own stay as they are.
	keep []securitygroup.PortKey
}

// claim collects what is known of a Service. A rule on its healthCheckNodePort is always in
// the groups of openstack-cloud-controller-manager; it does no harm where nothing looks there.
func (r *Reconciler) claim(p *pass, s *corev1.Service, nodes []corev1.Node) serviceClaim {
	c := serviceClaim{Claim: securitygroup.Claim{Ports: build.ServicePorts(s)}, owner: r.Policy.Owner(s)}
	if known, there := p.needs[client.ObjectKeyFromObject(s)]; there && known.uid == s.UID {
		c.Need, c.released = &known.Need, known.released
	}
	if check := int(s.Spec.HealthCheckNodePort); check != 0 {
		c.keep = []securitygroup.PortKey{{Transport: lb.TCP, Port: check}}
	}
	selector, err := annotation.Selector(s.Annotations, r.Config)
	if c.unread = err != nil; err != nil || len(selector) == 0 {
		return c
	}
	c.only = []string{}
	for i := range nodes {
		if selector.Matches(nodes[i].Labels) {
			c.only = append(c.only, nodes[i].Name)
		}
	}
	slices.Sort(c.only)
	return c
}

// perService reports whether each Service has a group of its own.
func (r *Reconciler) perService() bool {
	return r.Config.SecurityGroupMode == config.ServiceSecurityGroups
}

// use is what the group is for from which the Service's rules are wanted.
func (r *Reconciler) use(o lb.Owner) string {
	if r.perService() {
		return o.ServiceUID
	}
	return securitygroup.OfNodes
}

// useOf says what a group of the project is for, or "" if it is none of ours. Groups of
// Services were made by openstack-cloud-controller-manager, unless we make them ourselves: with
// AdoptObserve they are not looked at.
func (r *Reconciler) useOf(g securitygroup.Group) string {
	switch {
	case r.identity().Owns(g.Name, g.Description):
		return securitygroup.OfNodes
	case r.perService() || !r.Observe:
		return lb.SecurityGroupOfService(r.Policy.ClusterName, g.Name, g.Description)
	}
	return ""
}

// want decides which groups there are to be, and what in them.
func (r *Reconciler) want(p *pass) {
	keys := make([]types.NamespacedName, 0, len(p.claims))
	for key := range p.claims {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	nodes := r.identity()
	main := securitygroup.WantedGroup{For: securitygroup.OfNodes, Name: nodes.Name(), Description: nodes.Description()}
	main.Held, main.Unsure = p.held, p.unsure
	claims := make([]securitygroup.Claim, 0, len(keys))
	sure := true
	for _, key := range keys {
		c := p.claims[key]
		claims = append(claims, c.Claim)
		sure = sure && r.sure(c)
	}
	if r.perService() {
		// What it lets in, those of all Services have to let in.
		main.Delete, main.Replaced = true, true
	} else {
		main.Rules, main.Keep = securitygroup.Claimed(claims, r.subnets)
	}
	p.wanted.Groups = nil
	if !main.Delete || sure {
		p.wanted.Groups = append(p.wanted.Groups, main)
	}
	for _, key := range keys {
		if own, known := r.wantOfService(key, p.claims[key]); known {
			p.wanted.Groups = append(p.wanted.Groups, own)
		}
	}
}

// wantOfService decides about the group of one Service. Known is false where it is left as it
// is, since it is not known what it has to be.
func (r *Reconciler) wantOfService(key types.NamespacedName, c serviceClaim) (w securitygroup.WantedGroup, known bool) {
	w = securitygroup.WantedGroup{For: c.owner.ServiceUID, Name: c.owner.SecurityGroupName(), Description: c.owner.SecurityGroupDescription()}
	if c.released {
		w.Delete = true
		return w, true
	}
	if !r.sure(c) {
		return w, false
	}
	w.Held, w.Unsure = r.Members.MemberAddresses([]types.NamespacedName{key})
	if !r.perService() {
		w.Delete, w.Replaced = true, true
		return w, true
	}
	w.Rules, _ = c.Need.Rules(r.subnets)
	w.Keep, w.Only = c.keep, c.only
	return w, true
}

// sure reports whether it is known what the Service claims, of the nodes that it selects, too,
// where it has a group of its own.
func (r *Reconciler) sure(c serviceClaim) bool {
	return c.Sure(r.subnets) && !(c.unread && r.perService())
}

// mayMake reports whether the group is still to be made: a Service may have gone meanwhile.
func (r *Reconciler) mayMake(p *pass, op securitygroup.CreateGroup) bool {
	if op.For == securitygroup.OfNodes {
		return true
	}
	for key, c := range p.claims {
		if c.owner.ServiceUID == op.For {
			return r.requirements.mayMake(key, types.UID(op.For))
		}
	}
	return false
}

// tellReleased brings Services back that have nothing but a group of their own, when that has
// gone, or if it cannot be deleted.
func (r *Reconciler) tellReleased(p *pass, failure error) {
	var groups map[types.UID]bool
	if r.known && r.unanswered.IsZero() {
		groups = map[types.UID]bool{}
		for _, g := range r.observed.Groups {
			groups[types.UID(g.For)] = true
		}
	}
	r.requirements.noteGroups(groups)
	for key, was := range p.needs {
		switch {
		case !was.released:
		case groups != nil && !groups[was.uid]:
			r.Enqueue(key)
		case failure != nil && r.requirements.judge(key, was, false, openstack.Reason(failure), true):
			r.Enqueue(key)
		}
	}
}
