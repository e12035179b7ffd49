// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/neutron"
	"github.com/kube-octavia/kube-octavia/internal/octavia"
	"github.com/kube-octavia/kube-octavia/internal/orphan"
	"github.com/kube-octavia/kube-octavia/internal/status"
)

// Survey has all Services of the cluster with their cloud objects, and objects that belong to no
// Service.
type Survey struct {
	// Unhandled says why no Service is handled; "" if one is.
	Unhandled string          `json:"-"`
	Services  []ServiceStatus `json:"services"`
	// Orphans have the uid of this cluster and of a Service that does not exist.
	Orphans []orphan.Object `json:"orphans"`
	// Conflicts are objects that block a Service, or that another client took from it.
	Conflicts []Conflict `json:"conflicts"`
	// LeftPorts are VIP ports of load balancers that do not exist. Their owner is unknown.
	LeftPorts []orphan.Object `json:"leftPorts"`
}

// ServiceStatus is one Service and its load balancer.
type ServiceStatus struct {
	Namespace          string                `json:"namespace"`
	Name               string                `json:"name"`
	LoadBalancerID     string                `json:"loadBalancerID,omitempty"`
	ProvisioningStatus lb.ProvisioningStatus `json:"provisioningStatus,omitempty"`
	OperatingStatus    string                `json:"operatingStatus,omitempty"`
	// Address is the published address.
	Address string `json:"address,omitempty"`
	// Programmed, Reason and Message are the status, reason and message of condition Programmed.
	Programmed string `json:"programmed"`
	Reason     string `json:"reason,omitempty"`
	Message    string `json:"message,omitempty"`
}

// Conflict is an object that is in conflict with a Service.
type Conflict struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	ID        string `json:"id"`
	Message   string `json:"message"`
}

// cloud is what a survey reads from the cloud.
type cloud struct {
	loadBalancers []lb.LoadBalancer
	ports         []neutron.VIPPort
	orphan.Inventory
}

// Status reads all Services and the objects of the project in the cloud, with one call per thousand
// load balancers, floating IPs or VIP ports, and per hundred secrets.
func Status(ctx context.Context, s Source) (Survey, error) {
	cloud, err := s.readCloud(ctx)
	if err != nil {
		return Survey{}, err
	}
	all := Survey{Services: []ServiceStatus{}, Conflicts: []Conflict{}, LeftPorts: cloud.leftPorts()}
	if all.Orphans, err = s.Orphans(ctx, cloud.Inventory); err != nil {
		return Survey{}, err
	}
	services, err := s.services(ctx)
	if err != nil {
		return Survey{}, err
	}
	all.Unhandled = s.unhandled(services)
	for i := range services {
		if service := &services[i]; s.Serves(service) || s.Leaves(service) {
			row, conflicts := s.statusOf(service, cloud)
			all.Services = append(all.Services, row)
			all.Conflicts = append(all.Conflicts, conflicts...)
		}
	}
	return all, nil
}

func (s Source) readCloud(ctx context.Context) (c cloud, err error) {
	// Ports are read first, so that a port that is created meanwhile does not count as left behind.
	if c.ports, err = s.Neutron.VIPPorts(ctx); err != nil {
		return c, err
	}
	if c.loadBalancers, err = s.Octavia.All(ctx); err != nil {
		return c, err
	}
	for _, l := range c.loadBalancers {
		c.LoadBalancers = append(c.LoadBalancers, octavia.Head{ID: l.ID, ProvisioningStatus: l.ProvisioningStatus, Tags: l.Tags})
	}
	if c.FloatingIPs, err = s.Neutron.FloatingIPs(ctx); err != nil {
		return c, err
	}
	if c.SecurityGroups, err = s.SecurityGroups(ctx); err != nil {
		return c, err
	}
	c.Certificates, err = s.Barbican.Stored(ctx, s.ClusterUID)
	return c, err
}

// leftPorts returns the VIP ports of load balancers that do not exist.
func (c cloud) leftPorts() []orphan.Object {
	left := []orphan.Object{}
	for _, port := range c.ports {
		used := slices.ContainsFunc(c.loadBalancers, func(l lb.LoadBalancer) bool {
			return l.ID == port.LoadBalancerID || l.VIP.PortID == port.ID
		})
		if !used && port.LoadBalancerID != "" {
			left = append(left, orphan.Object{Kind: "port", ID: port.ID, Name: port.Name})
		}
	}
	return left
}

func (s Source) statusOf(service *corev1.Service, cloud cloud) (ServiceStatus, []Conflict) {
	row := ServiceStatus{Namespace: service.Namespace, Name: service.Name, Programmed: string(metav1.ConditionUnknown),
		LoadBalancerID: service.Annotations[annotation.LoadBalancerID]}
	if c := meta.FindStatusCondition(service.Status.Conditions, status.Programmed); c != nil {
		row.Programmed, row.Reason, row.Message = string(c.Status), c.Reason, c.Message
	}
	if published := service.Status.LoadBalancer.Ingress; len(published) > 0 {
		row.Address = published[0].IP
	}
	var conflicts []Conflict
	conflict := func(kind, id, message string) {
		conflicts = append(conflicts, Conflict{service.Namespace, service.Name, kind, id, message})
	}
	owner := s.Owner(service)
	var ports []string
	for _, l := range cloud.loadBalancers {
		noted := l.ID == service.Annotations[annotation.LoadBalancerID]
		switch {
		case s.Planner.Owns(service, l, cloud.FloatingIPs):
			ports = append(ports, l.VIP.PortID)
			if noted || row.ProvisioningStatus == "" {
				row.LoadBalancerID, row.ProvisioningStatus, row.OperatingStatus = l.ID, l.ProvisioningStatus, l.OperatingStatus
			}
		case noted && s.Planner.Shares(service, l, cloud.FloatingIPs):
			row.ProvisioningStatus, row.OperatingStatus = l.ProvisioningStatus, l.OperatingStatus
		case noted || l.Name == owner.LoadBalancerName():
			conflict(diff.Object(diff.CreateLoadBalancer{}), l.ID,
				cmp.Or(owner.Claims(l).Reason, fmt.Sprintf("load balancer %s has this Service's name, but nothing proves that it belongs to this Service", l.ID)))
		}
	}
	for _, f := range cloud.FloatingIPs {
		if owner.MadeFloatingIP(f) && f.PortID != "" && !slices.Contains(ports, f.PortID) {
			conflict(diff.Object(diff.CreateFloatingIP{}), f.ID, fmt.Sprintf(
				"floating IP %s was created for this Service but is attached to port %s, which is not the VIP port of its load balancer", f.Address, f.PortID))
		}
	}
	return row, conflicts
}
