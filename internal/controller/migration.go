// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
	"github.com/kube-octavia/kube-octavia/internal/status"
)

// Migration is what would become of all Services of a cluster, and of what
// openstack-cloud-controller-manager made, when a controller took over now.
type Migration struct {
	Services []Prospect `json:"services"`
	// Others are load balancers of the project that were made for Services, and for none
	// of these.
	Others []OtherLoadBalancer `json:"others"`
	// SecurityGroups are those that were made for Services; nil where none are managed.
	SecurityGroups []ProspectiveGroup `json:"securityGroups"`
}

// Outcome is what would become of one Service.
type Outcome string

// The outcomes.
const (
	// OutcomeServed: it was taken over before, or is one that we made.
	OutcomeServed Outcome = "served"
	// OutcomeAdopted: its load balancer would be taken over, and get our tags.
	OutcomeAdopted Outcome = "adopted"
	// OutcomeChanged: its load balancer would be taken over, and more would be written.
	OutcomeChanged Outcome = "changed"
	// OutcomeRefused: it cannot be served as it is written, or not all of it.
	OutcomeRefused Outcome = "refused"
	// OutcomeForeign: what has its name, or is named on it, is somebody else's.
	OutcomeForeign Outcome = "foreign"
	// OutcomeCreated: it has no load balancer, and would get one.
	OutcomeCreated Outcome = "created"
	// OutcomeReleased: it is to have no load balancer any more, and what it has would go.
	OutcomeReleased Outcome = "released"
	// OutcomeBusy: Octavia is at work on its load balancer, or that has failed.
	OutcomeBusy Outcome = "busy"
	// OutcomeLeftAlone: it is not for this controller.
	OutcomeLeftAlone Outcome = "left-alone"
	// OutcomeUnknown: nothing could be found out.
	OutcomeUnknown Outcome = "unknown"
)

// Smooth reports whether nothing would change that anybody notices.
func (o Outcome) Smooth() bool {
	return o == OutcomeServed || o == OutcomeAdopted || o == OutcomeLeftAlone
}

// Prospect is what would become of one Service, and why.
type Prospect struct {
	Namespace string  `json:"namespace"`
	Name      string  `json:"name"`
	Outcome   Outcome `json:"outcome"`
	// LoadBalancerID and LoadBalancerName are those of its load balancer, or of the one
	// that is somebody else's.
	LoadBalancerID   string `json:"loadBalancerID,omitempty"`
	LoadBalancerName string `json:"loadBalancerName,omitempty"`
	// Address is the one that the Service publishes.
	Address string `json:"address,omitempty"`
	// Reasons say why it is not adopted as it is.
	Reasons []string `json:"reasons,omitempty"`
	// Ops are what would be written, in this order.
	Ops []PlannedOp `json:"ops"`
}

// PlannedOp is one write.
type PlannedOp struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// OtherLoadBalancer is a load balancer that is no Service's of the cluster.
type OtherLoadBalancer struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Reason says whose it is, as far as that can be told.
	Reason string `json:"reason"`
}

// Migration looks at all Services and at all load balancers of the project, as a
// controller that was just started would with AdoptTag, and writes nothing. What it cannot
// find out of one Service keeps it from no other. Reader must be one that asks the API
// server.
func (p *Planner) Migration(ctx context.Context) (Migration, error) {
	balancers, err := p.Octavia.All(ctx)
	if err != nil {
		return Migration{}, err
	}
	var services corev1.ServiceList
	if err := p.Reader.List(ctx, &services); err != nil {
		return Migration{}, fmt.Errorf("list Services: %w", err)
	}
	m := Migration{Services: []Prospect{}, Others: []OtherLoadBalancer{}}
	for i := range services.Items {
		service := &services.Items[i]
		switch {
		case p.Serves(service) || p.Leaves(service):
			m.Services = append(m.Services, p.prospect(ctx, service, balancers))
		case service.Spec.Type == corev1.ServiceTypeLoadBalancer:
			m.Services = append(m.Services, Prospect{Namespace: service.Namespace, Name: service.Name, Address: published(service),
				Outcome: OutcomeLeftAlone, Reasons: []string{p.whyLeftAlone(service)}, Ops: []PlannedOp{}})
		}
	}
	slices.SortFunc(m.Services, func(a, b Prospect) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	m.Others = append(m.Others, p.others(balancers, services.Items, m.Services)...)
	if p.Config.ManageSecurityGroups {
		groups, err := p.Neutron.SecurityGroups(ctx)
		if err != nil {
			return Migration{}, err
		}
		m.SecurityGroups = p.prospectiveGroups(groups, services.Items)
	}
	return m, nil
}

// prospect plans for one Service.
func (p *Planner) prospect(ctx context.Context, service *corev1.Service, balancers []lb.LoadBalancer) Prospect {
	row := Prospect{Namespace: service.Namespace, Name: service.Name, Address: published(service), Ops: []PlannedOp{}}
	plan, observed, err := p.Plan(openstack.WithRequestID(ctx, openstack.NewRequestID()), service)
	for _, op := range plan.Ops {
		row.Ops = append(row.Ops, PlannedOp{Kind: diff.Kind(op), Text: op.String()})
	}
	for _, r := range plan.Refused {
		row.Reasons = append(row.Reasons, r.Message)
	}
	l := observed.LoadBalancer
	var theirs *lb.LoadBalancer
	if l == nil {
		theirs = p.inTheWay(service, balancers)
	}
	switch {
	case l != nil:
		row.LoadBalancerID, row.LoadBalancerName = l.ID, l.Name
	case theirs != nil:
		row.LoadBalancerID, row.LoadBalancerName = theirs.ID, theirs.Name
		row.Reasons = append(row.Reasons, p.whyForeign(service, *theirs))
	}
	if err != nil {
		row.Reasons = append(row.Reasons, err.Error())
	}
	row.Outcome = outcome(facts{
		plan: plan, balancer: l, taken: l != nil && p.marked(*l) && p.Claimed(service), serves: p.Serves(service), foreign: theirs != nil, err: err,
	})
	if row.Outcome == OutcomeBusy {
		row.Reasons = append(row.Reasons, fmt.Sprintf("load balancer %s is in %s; look again when it is ACTIVE", l.ID, l.ProvisioningStatus))
	}
	return row
}

// facts are what the outcome of a Service depends on.
type facts struct {
	plan diff.Plan
	// balancer is the Service's, nil for none; taken is whether both bear our marks.
	balancer *lb.LoadBalancer
	taken    bool
	// serves is whether the Service is to have one, and foreign whether it has none and
	// somebody else has one of its name.
	serves, foreign bool
	err             error
}

func outcome(f facts) Outcome {
	switch {
	case openstack.Classify(f.err) == openstack.Foreign:
		return OutcomeForeign
	case f.err != nil:
		return OutcomeUnknown
	case !f.serves:
		return OutcomeReleased
	case f.foreign:
		return OutcomeForeign
	case f.balancer == nil && waitsForGroup(f.plan):
		return OutcomeCreated
	case len(f.plan.Refused) > 0:
		return OutcomeRefused
	case f.balancer == nil:
		return OutcomeCreated
	case f.balancer.ProvisioningStatus != lb.Active:
		return OutcomeBusy
	case f.taken && len(f.plan.Ops) == 0:
		return OutcomeServed
	case diff.OnlyTags(f.plan.Ops):
		return OutcomeAdopted
	}
	return OutcomeChanged
}

// waitsForGroup reports whether another Service is to make the load balancer first.
func waitsForGroup(plan diff.Plan) bool {
	return slices.ContainsFunc(plan.Refused, func(r diff.Refusal) bool { return r.Reason == status.ReasonWaitingForGroup })
}

// inTheWay finds a load balancer that has the Service's name and is not the Service's.
func (p *Planner) inTheWay(service *corev1.Service, balancers []lb.LoadBalancer) *lb.LoadBalancer {
	owner := p.Owner(service)
	i := slices.IndexFunc(balancers, func(l lb.LoadBalancer) bool {
		return l.Name == owner.LoadBalancerName() || l.Name == owner.LegacyName()
	})
	if i < 0 {
		return nil
	}
	return &balancers[i]
}

// whyForeign says why the load balancer that has the Service's name is not the Service's.
func (p *Planner) whyForeign(service *corev1.Service, l lb.LoadBalancer) string {
	if l.ProjectID != "" && l.ProjectID != p.Neutron.ProjectID() {
		return fmt.Sprintf("load balancer %s belongs to another project (%s)", l.ID, l.ProjectID)
	}
	owner := p.Owner(service)
	return cmp.Or(owner.Claims(l).Reason, fmt.Sprintf(
		"load balancer %s has this Service's name, and the Service publishes no address of it; set tag %s on it if it is this Service's", l.ID, owner.ServiceTag()))
}

// whyLeftAlone says why a Service of type LoadBalancer is not served.
func (p *Planner) whyLeftAlone(service *corev1.Service) string {
	if class := service.Spec.LoadBalancerClass; class != nil {
		return fmt.Sprintf("spec.loadBalancerClass is %q, and --load-balancer-class is %q", *class, p.LoadBalancerClass)
	}
	if service.DeletionTimestamp != nil {
		return "it is being deleted, and bears no finalizer of a load balancer"
	}
	return "it has no spec.loadBalancerClass, and --handle-default-class is false"
}

// others are the load balancers that were made for Services and that no row names.
func (p *Planner) others(balancers []lb.LoadBalancer, services []corev1.Service, rows []Prospect) []OtherLoadBalancer {
	var others []OtherLoadBalancer
	for _, l := range balancers {
		named := slices.ContainsFunc(rows, func(r Prospect) bool { return r.LoadBalancerID == l.ID })
		if !named && lb.MadeForAService(l) {
			others = append(others, OtherLoadBalancer{ID: l.ID, Name: l.Name, Description: l.Description, Reason: p.whose(l, services)})
		}
	}
	slices.SortFunc(others, func(a, b OtherLoadBalancer) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	return others
}

// whose says whose the load balancer is that no Service has.
func (p *Planner) whose(l lb.LoadBalancer, services []corev1.Service) string {
	of, described := lb.DescribedService(l.Description)
	switch uid := lb.ClusterUIDOf(l.Tags); {
	case l.ProjectID != "" && l.ProjectID != p.Neutron.ProjectID():
		return fmt.Sprintf("it belongs to another project (%s)", l.ProjectID)
	case uid != "" && uid != p.ClusterUID:
		return fmt.Sprintf("it bears the uid of another cluster (%s)", uid)
	case uid != "":
		return "it bears the uid of this cluster, and no Service of it has it: see `kube-octavia status`"
	case described && of.Cluster != p.ClusterName:
		return fmt.Sprintf("it was made for Service %s/%s of cluster %q, and --cluster-name is %q", of.Namespace, of.Name, of.Cluster, p.ClusterName)
	case described && !exists(services, of):
		return fmt.Sprintf("it was made for Service %s/%s, which does not exist: left behind, or another cluster's of the same name", of.Namespace, of.Name)
	case described:
		return fmt.Sprintf("it was made for Service %s/%s, which has another one", of.Namespace, of.Name)
	}
	return "nothing says for which Service it was made"
}

func exists(services []corev1.Service, of lb.ServiceOfCluster) bool {
	return slices.ContainsFunc(services, func(s corev1.Service) bool { return s.Namespace == of.Namespace && s.Name == of.Name })
}
