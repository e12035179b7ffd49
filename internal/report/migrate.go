// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package report

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

// Migration is what would happen to all Services of a cluster, and to what
// openstack-cloud-controller-manager made, if a controller took over now.
type Migration struct {
	Services []ServiceMigration `json:"services"`
	// Others are load balancers of the project that were made for Services, and for none
	// of these.
	Others []OtherLoadBalancer `json:"others"`
	// SecurityGroups are those that were made for Services; nil where none are managed.
	SecurityGroups []SecurityGroupMigration `json:"securityGroups"`
}

// Outcome is what would happen to a Service or a security group.
type Outcome string

// The outcomes. Orphan and Replaced are for security groups.
const (
	// OutcomeServed: it was taken over before, or is one that this controller made.
	OutcomeServed Outcome = "served"
	// OutcomeAdopted: it would be taken over. A load balancer would get our tags, and the rules
	// of a security group would be those that its Service needs.
	OutcomeAdopted Outcome = "adopted"
	// OutcomeChanged: its load balancer would be taken over, and more than tags be written.
	OutcomeChanged Outcome = "changed"
	// OutcomeRefused: it cannot be served, completely or in part.
	OutcomeRefused Outcome = "refused"
	// OutcomeForeign: the load balancer that has its name, or that it names, is not its own.
	OutcomeForeign Outcome = "not-owned"
	// OutcomeCreated: it has no load balancer, and would get one.
	OutcomeCreated Outcome = "created"
	// OutcomeReleased: it is to have no load balancer any more, and what it has would go.
	OutcomeReleased Outcome = "released"
	// OutcomeBusy: Octavia is changing its load balancer, or that has failed.
	OutcomeBusy Outcome = "busy"
	// OutcomeLeftAlone: it is not for this controller.
	OutcomeLeftAlone Outcome = "left-alone"
	// OutcomeUnknown: the plan could not be made.
	OutcomeUnknown Outcome = "unknown"
	// OutcomeOrphan: its Service does not exist, or is to have no load balancer.
	OutcomeOrphan Outcome = "orphan"
	// OutcomeReplaced: it would be taken off the nodes and deleted, when that of the cluster is
	// in its place.
	OutcomeReplaced Outcome = "replaced"
)

// Smooth reports whether nothing would change for the clients of a Service.
func (o Outcome) Smooth() bool {
	return o == OutcomeServed || o == OutcomeAdopted || o == OutcomeLeftAlone
}

// ServiceMigration is what would happen to one Service, and why.
type ServiceMigration struct {
	Namespace string  `json:"namespace"`
	Name      string  `json:"name"`
	Outcome   Outcome `json:"outcome"`
	// LoadBalancerID and LoadBalancerName are those of its load balancer, or of the one
	// that has its name and is not its own.
	LoadBalancerID   string `json:"loadBalancerID,omitempty"`
	LoadBalancerName string `json:"loadBalancerName,omitempty"`
	// Address is the one that the Service publishes.
	Address string `json:"address,omitempty"`
	// Reasons say why it is not adopted as it is.
	Reasons []string `json:"reasons,omitempty"`
	// Ops are what would be written, in this order.
	Ops []Op `json:"ops"`
}

// Op is one write.
type Op struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// OtherLoadBalancer is a load balancer that is no Service's of the cluster.
type OtherLoadBalancer struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Reason says whose it is, as far as that is known.
	Reason string `json:"reason"`
}

// Migrate looks at all Services and at all load balancers of the project, as a controller
// that has just started would with --adopt=tag. A Service that it can find nothing out about
// does not stop the others.
func Migrate(ctx context.Context, s Source) (Migration, error) {
	balancers, err := s.Octavia.All(ctx)
	if err != nil {
		return Migration{}, err
	}
	var services corev1.ServiceList
	if err := s.Reader.List(ctx, &services); err != nil {
		return Migration{}, fmt.Errorf("list Services: %w", err)
	}
	m := Migration{Services: []ServiceMigration{}}
	for i := range services.Items {
		service := &services.Items[i]
		row := ServiceMigration{Namespace: service.Namespace, Name: service.Name, Address: status.Published(service), Ops: []Op{}}
		switch {
		case s.Serves(service) || s.Leaves(service):
			s.plan(ctx, service, balancers, &row)
		case service.Spec.Type == corev1.ServiceTypeLoadBalancer:
			row.Outcome, row.Reasons = OutcomeLeftAlone, []string{s.whyLeftAlone(service)}
		default:
			continue
		}
		m.Services = append(m.Services, row)
	}
	slices.SortFunc(m.Services, func(a, b ServiceMigration) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	m.Others = s.others(balancers, services.Items, m.Services)
	if s.Config.ManageSecurityGroups {
		groups, err := s.Neutron.SecurityGroups(ctx)
		if err != nil {
			return Migration{}, err
		}
		m.SecurityGroups = s.securityGroups(groups, services.Items)
	}
	return m, nil
}

// plan fills in the row of a Service from what its plan would be.
func (s Source) plan(ctx context.Context, service *corev1.Service, balancers []lb.LoadBalancer, row *ServiceMigration) {
	plan, observed, err := s.Planner.Plan(openstack.WithRequestID(ctx, openstack.NewRequestID()), service)
	for _, op := range plan.Ops {
		row.Ops = append(row.Ops, Op{Kind: diff.Kind(op), Text: op.String()})
	}
	for _, r := range plan.Refused {
		row.Reasons = append(row.Reasons, r.Message)
	}
	l := observed.LoadBalancer
	var foreign *lb.LoadBalancer
	if l == nil {
		foreign = s.withNameOf(service, balancers)
	}
	switch {
	case l != nil:
		row.LoadBalancerID, row.LoadBalancerName = l.ID, l.Name
	case foreign != nil:
		row.LoadBalancerID, row.LoadBalancerName = foreign.ID, foreign.Name
		row.Reasons = append(row.Reasons, s.whyForeign(service, *foreign))
	}
	if err != nil {
		row.Reasons = append(row.Reasons, err.Error())
	}
	row.Outcome = outcome(facts{
		plan: plan, balancer: l, taken: l != nil && s.Capabilities.Marked(*l) && s.Claimed(service), serves: s.Serves(service), foreign: foreign != nil, err: err,
	})
	if row.Outcome == OutcomeBusy {
		row.Reasons = append(row.Reasons, fmt.Sprintf("load balancer %s is in %s; run this command again when it is ACTIVE", l.ID, l.ProvisioningStatus))
	}
}

// facts are what the outcome of a Service depends on.
type facts struct {
	plan diff.Plan
	// balancer is the Service's, nil for none; taken is whether both bear our marks.
	balancer *lb.LoadBalancer
	taken    bool
	// serves is whether the Service is to have one, and foreign whether it has none and one
	// that is not its own has its name.
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

// withNameOf finds a load balancer that has the name of the Service.
func (s Source) withNameOf(service *corev1.Service, balancers []lb.LoadBalancer) *lb.LoadBalancer {
	owner := s.Owner(service)
	i := slices.IndexFunc(balancers, func(l lb.LoadBalancer) bool {
		return l.Name == owner.LoadBalancerName() || l.Name == owner.LegacyName()
	})
	if i < 0 {
		return nil
	}
	return &balancers[i]
}

// whyForeign says why the load balancer that has the Service's name is not the Service's.
func (s Source) whyForeign(service *corev1.Service, l lb.LoadBalancer) string {
	if l.ProjectID != "" && l.ProjectID != s.Neutron.ProjectID() {
		return fmt.Sprintf("load balancer %s belongs to another project (%s)", l.ID, l.ProjectID)
	}
	owner := s.Owner(service)
	return cmp.Or(owner.Claims(l).Reason, fmt.Sprintf(
		"load balancer %s has this Service's name, but the Service's status has no address of it; if it belongs to this Service, set tag %s on it", l.ID, owner.ServiceTag()))
}

// whyLeftAlone says why a Service of type LoadBalancer is not served.
func (s Source) whyLeftAlone(service *corev1.Service) string {
	if class := service.Spec.LoadBalancerClass; class != nil {
		return fmt.Sprintf("spec.loadBalancerClass is %q, and --load-balancer-class is %q", *class, s.LoadBalancerClass)
	}
	if service.DeletionTimestamp != nil {
		return "it is being deleted, and has no load balancer finalizer"
	}
	return "it has no spec.loadBalancerClass, and --handle-default-class is false"
}

// others are the load balancers that were made for Services and that no row names.
func (s Source) others(balancers []lb.LoadBalancer, services []corev1.Service, rows []ServiceMigration) []OtherLoadBalancer {
	others := []OtherLoadBalancer{}
	for _, l := range balancers {
		named := slices.ContainsFunc(rows, func(r ServiceMigration) bool { return r.LoadBalancerID == l.ID })
		if !named && lb.MadeForAService(l) {
			others = append(others, OtherLoadBalancer{ID: l.ID, Name: l.Name, Description: l.Description, Reason: s.whose(l, services)})
		}
	}
	slices.SortFunc(others, func(a, b OtherLoadBalancer) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	return others
}

// whose says whose the load balancer is that no Service has.
func (s Source) whose(l lb.LoadBalancer, services []corev1.Service) string {
	of, described := lb.DescribedService(l.Description)
	switch uid := lb.ClusterUIDOf(l.Tags); {
	case l.ProjectID != "" && l.ProjectID != s.Neutron.ProjectID():
		return fmt.Sprintf("it belongs to another project (%s)", l.ProjectID)
	case uid != "" && uid != s.ClusterUID:
		return fmt.Sprintf("it has the uid of another cluster (%s)", uid)
	case uid != "":
		return "it has the uid of this cluster, but no Service uses it: see `kube-octavia status`"
	case described && of.Cluster != s.ClusterName:
		return fmt.Sprintf("it was created for Service %s/%s of cluster %q, but --cluster-name is %q", of.Namespace, of.Name, of.Cluster, s.ClusterName)
	case described && !exists(services, of):
		return fmt.Sprintf("it was created for Service %s/%s, which does not exist: it is left over, or belongs to another cluster of the same name", of.Namespace, of.Name)
	case described:
		return fmt.Sprintf("it was created for Service %s/%s, which has another one", of.Namespace, of.Name)
	}
	return "its Service is unknown"
}

func exists(services []corev1.Service, of lb.ServiceOfCluster) bool {
	return slices.ContainsFunc(services, func(s corev1.Service) bool { return s.Namespace == of.Namespace && s.Name == of.Name })
}
