// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
)

// Predecessor is the software that created the load balancers that are taken over.
type Predecessor string

// The predecessors.
const (
	OCCM  Predecessor = "occm"
	Kuryr Predecessor = "kuryr"
)

// Migration is what would happen to the Services of a cluster, and to the objects that a
// predecessor created, if a controller took over now.
type Migration struct {
	Services []ServiceMigration `json:"items"`
	// Unhandled is the reason why no Service is handled, or "".
	Unhandled string `json:"-"`
	// Others are load balancers of the project that were created for other Services.
	Others []OtherLoadBalancer `json:"others"`
	// SecurityGroups are the groups that were created for Services. It is nil if the controller
	// does not manage security groups.
	SecurityGroups []SecurityGroupMigration `json:"securityGroups"`
	// Kuryr is what Kuryr-Kubernetes left in the cluster. It is nil unless the migration is from Kuryr.
	Kuryr []KuryrMark `json:"kuryr,omitempty"`
}

// Outcome is what would happen to a Service or a security group.
type Outcome string

// The outcomes. Orphan and Replaced are for security groups only.
const (
	// OutcomeServed: this controller created it or has already taken it over.
	OutcomeServed Outcome = "served"
	// OutcomeAdopted: it would be taken over. A load balancer would get our tags; a security group
	// would get the rules that its Service needs.
	OutcomeAdopted Outcome = "adopted"
	// OutcomeChanged: its load balancer would be taken over and changed, beyond tags.
	OutcomeChanged Outcome = "changed"
	// OutcomeRefused: it cannot be served, completely or in part.
	OutcomeRefused Outcome = "refused"
	// OutcomeForeign: the load balancer with its name or id does not belong to it.
	OutcomeForeign Outcome = "not-owned"
	// OutcomeCreated: it has no load balancer and would get one.
	OutcomeCreated Outcome = "created"
	// OutcomeReleased: it no longer needs a load balancer, and its cloud objects would be deleted.
	OutcomeReleased Outcome = "released"
	// OutcomeBusy: its load balancer is PENDING or in ERROR.
	OutcomeBusy Outcome = "busy"
	// OutcomeLeftAlone: this controller does not handle it.
	OutcomeLeftAlone Outcome = "left-alone"
	// OutcomeUnknown: there is no plan, because a call failed.
	OutcomeUnknown Outcome = "unknown"
	// OutcomeOrphan: its Service does not exist or does not need it.
	OutcomeOrphan Outcome = "orphan"
	// OutcomeReplaced: it would be detached from the nodes and deleted after the group of the
	// cluster has replaced it.
	OutcomeReplaced Outcome = "replaced"
)

// Unchanged reports whether nothing would change for the clients of the Service.
func (o Outcome) Unchanged() bool {
	return o == OutcomeServed || o == OutcomeAdopted || o == OutcomeLeftAlone
}

// ServiceMigration is what would happen to a Service.
type ServiceMigration struct {
	Namespace string  `json:"namespace"`
	Name      string  `json:"name"`
	Outcome   Outcome `json:"outcome"`
	// LoadBalancerID and LoadBalancerName are those of its load balancer, or of a load balancer
	// that has its name but does not belong to it.
	LoadBalancerID   string `json:"loadBalancerID,omitempty"`
	LoadBalancerName string `json:"loadBalancerName,omitempty"`
	// Address is the published address.
	Address string `json:"address,omitempty"`
	// Reasons are why it would not be taken over unchanged.
	Reasons []string `json:"reasons,omitempty"`
	// Ops are the writes, in this order.
	Ops []Op `json:"ops"`
}

// Op is a write.
type Op struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// OtherLoadBalancer is a load balancer that belongs to no Service of the cluster.
type OtherLoadBalancer struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Reason says to what it belongs, as far as known.
	Reason string `json:"reason"`
}

// Migrate reads all Services and load balancers of the project, and decides like a controller that
// has just been started with --adopt=tag. If a call for one Service fails, the others are reported
// nevertheless. Load balancers of Kuryr are recognized in cluster-ip mode.
func Migrate(ctx context.Context, s Source, from Predecessor) (Migration, error) {
	balancers, err := s.Finder.Octavia.All(ctx)
	if err != nil {
		return Migration{}, err
	}
	services, err := s.services(ctx)
	if err != nil {
		return Migration{}, err
	}
	m := Migration{Services: []ServiceMigration{}}
	for i := range services {
		service := &services[i]
		row := ServiceMigration{Namespace: service.Namespace, Name: service.Name, Address: s.of(service).Published(), Ops: []Op{}}
		switch {
		case s.Finder.Policy.Serves(service) || s.Finder.Policy.Leaves(service):
			s.plan(ctx, service, balancers, &row)
		case service.Spec.Type == corev1.ServiceTypeLoadBalancer:
			row.Outcome, row.Reasons = OutcomeLeftAlone, []string{s.Finder.Policy.WhyNotServed(service)}
		default:
			continue
		}
		m.Services = append(m.Services, row)
	}
	m.Unhandled = s.unhandled(services)
	m.Others = s.others(balancers, services, m.Services)
	if from == Kuryr {
		m.Kuryr, err = s.kuryrMarks(ctx, services)
		if err != nil {
			return Migration{}, err
		}
	}
	if s.Finder.Config.ManageSecurityGroups {
		groups, err := s.Finder.Neutron.SecurityGroups(ctx)
		if err != nil {
			return Migration{}, err
		}
		m.SecurityGroups = s.securityGroups(groups, services)
	}
	return m, nil
}

// plan sets the row of a Service according to its plan.
func (s Source) plan(ctx context.Context, service *corev1.Service, balancers []lb.LoadBalancer, row *ServiceMigration) {
	plan, observed, err := s.Planner.Plan(openstack.WithRequestID(ctx, openstack.NewRequestID()), s.of(service))
	for _, op := range plan.Ops {
		row.Ops = append(row.Ops, Op{Kind: diff.Kind(op), Text: op.String()})
	}
	for _, r := range plan.Refused {
		row.Reasons = append(row.Reasons, r.Message)
	}
	l, foreign := observed.LoadBalancer, s.withNameOf(service, balancers)
	if l != nil {
		foreign = nil
		row.LoadBalancerID, row.LoadBalancerName = l.ID, l.Name
	} else if foreign != nil {
		row.LoadBalancerID, row.LoadBalancerName = foreign.ID, foreign.Name
		row.Reasons = append(row.Reasons, s.whyNotOwned(service, *foreign))
	}
	if err != nil {
		row.Reasons = append(row.Reasons, err.Error())
	}
	row.Outcome = outcome(facts{
		plan: plan, balancer: l, adopted: l != nil && s.Capabilities.Marked(*l) && s.Finder.Policy.Claimed(service), serves: s.Finder.Policy.Serves(service), foreign: foreign != nil, err: err,
	})
	if row.Outcome == OutcomeBusy {
		row.Reasons = append(row.Reasons, fmt.Sprintf("load balancer %s is in %s; run this command again when it is ACTIVE", l.ID, l.ProvisioningStatus))
	}
}

// facts determine the outcome for a Service.
type facts struct {
	plan diff.Plan
	// balancer is the Service's load balancer, or nil. adopted means that both have our marks.
	balancer *lb.LoadBalancer
	adopted  bool
	// serves means that the Service should have a load balancer. foreign means that it has none, but
	// a load balancer that does not belong to it has its name.
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
	case f.balancer == nil && slices.ContainsFunc(f.plan.Refused, func(r diff.Refusal) bool { return r.Reason == status.ReasonWaitingForGroup }):
		return OutcomeCreated // by another Service of its group
	case len(f.plan.Refused) > 0:
		return OutcomeRefused
	case f.balancer == nil:
		return OutcomeCreated
	case f.balancer.ProvisioningStatus != lb.Active:
		return OutcomeBusy
	case f.adopted && len(f.plan.Ops) == 0:
		return OutcomeServed
	case diff.OnlyTags(f.plan.Ops):
		return OutcomeAdopted
	}
	return OutcomeChanged
}

// withNameOf returns a load balancer with the name of the Service, or nil.
func (s Source) withNameOf(service *corev1.Service, balancers []lb.LoadBalancer) *lb.LoadBalancer {
	owner := s.Finder.Policy.Owner(service)
	i := slices.IndexFunc(balancers, func(l lb.LoadBalancer) bool {
		return l.Name == owner.LoadBalancerName() || l.Name == owner.LegacyName() || s.Finder.Policy.FromKuryr(service) && s.fromKuryr(l) && l.Name == owner.KuryrName()
	})
	if i < 0 {
		return nil
	}
	return &balancers[i]
}

// whyNotOwned returns why the load balancer with the Service's name does not belong to the Service.
func (s Source) whyNotOwned(service *corev1.Service, l lb.LoadBalancer) string {
	owner := s.Finder.Policy.Owner(service)
	return cmp.Or(s.otherProject(l), owner.Claims(l).Reason, fmt.Sprintf(
		"load balancer %s has this Service's name, but the Service's status has no address of it; if it belongs to this Service, set tag %s on it", l.ID, owner.ServiceTag()))
}

// others returns the load balancers that were created for Services but are in no row.
func (s Source) others(balancers []lb.LoadBalancer, services []corev1.Service, rows []ServiceMigration) []OtherLoadBalancer {
	others := []OtherLoadBalancer{}
	for _, l := range balancers {
		named := slices.ContainsFunc(rows, func(r ServiceMigration) bool { return r.LoadBalancerID == l.ID })
		if !named && (lb.MadeForAService(l) || s.fromKuryr(l)) {
			others = append(others, OtherLoadBalancer{ID: l.ID, Name: l.Name, Description: l.Description, Reason: s.describeOwner(l, services)})
		}
	}
	slices.SortFunc(others, func(a, b OtherLoadBalancer) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	return others
}

// describeOwner returns to what a load balancer belongs that no Service of the cluster uses.
func (s Source) describeOwner(l lb.LoadBalancer, services []corev1.Service) string {
	of, described := lb.DescribedService(l.Description)
	switch uid := lb.ClusterUIDOf(l.Tags); {
	case s.otherProject(l) != "":
		return s.otherProject(l)
	case uid != "" && uid != s.Finder.Policy.ClusterUID:
		return fmt.Sprintf("it has the uid of another cluster (%s)", uid)
	case uid != "":
		return s.describeOwn(l, services)
	case described && of.Cluster != s.Finder.Policy.ClusterName:
		return fmt.Sprintf("it was created for Service %s/%s of cluster %q, but --cluster-name is %q", of.Namespace, of.Name, of.Cluster, s.Finder.Policy.ClusterName)
	case described && !slices.ContainsFunc(services, func(s corev1.Service) bool { return s.Namespace == of.Namespace && s.Name == of.Name }):
		return fmt.Sprintf("it was created for Service %s/%s, which does not exist: it was left behind, or belongs to another cluster with the same name", of.Namespace, of.Name)
	case described:
		i := slices.IndexFunc(services, func(s corev1.Service) bool { return s.Namespace == of.Namespace && s.Name == of.Name })
		if why := s.whyLeftAlone(&services[i]); why != "" {
			return fmt.Sprintf("it was created for Service %s/%s, which these flags leave alone: %s", of.Namespace, of.Name, why)
		}
		return fmt.Sprintf("it was created for Service %s/%s, which has another one", of.Namespace, of.Name)
	case s.fromKuryr(l):
		return s.describeKuryr(l, services)
	}
	return "its Service is unknown"
}

// describeOwn returns why no row has a load balancer with the uid of this cluster.
func (s Source) describeOwn(l lb.LoadBalancer, services []corev1.Service) string {
	i := slices.IndexFunc(services, func(service corev1.Service) bool { return string(service.UID) == lb.ServiceUIDOf(l.Tags) })
	if i < 0 {
		return "it has the uid of this cluster, but its Service does not exist any more: see `kube-octavia status`"
	}
	service := &services[i]
	if why := s.whyLeftAlone(service); why != "" {
		return fmt.Sprintf("it belongs to Service %s/%s, which these flags leave alone: %s", service.Namespace, service.Name, why)
	}
	if of, described := lb.DescribedService(l.Description); described && of.Cluster != s.Finder.Policy.ClusterName {
		return fmt.Sprintf("it belongs to Service %s/%s, but was created with --cluster-name %q, and this is %q", service.Namespace, service.Name, of.Cluster, s.Finder.Policy.ClusterName)
	}
	return fmt.Sprintf("it belongs to Service %s/%s, which uses another one: see `kube-octavia status`", service.Namespace, service.Name)
}

// whyLeftAlone returns why the flags exclude a Service of type LoadBalancer, or "".
func (s Source) whyLeftAlone(service *corev1.Service) string {
	if s.Finder.Policy.Serves(service) || s.Finder.Policy.Leaves(service) {
		return ""
	}
	return s.Finder.Policy.WhyNotServed(service)
}
