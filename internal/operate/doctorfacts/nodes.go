// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctorfacts

import (
	"context"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/node/instances"
	"github.com/kube-octavia/kube-octavia/internal/node/routes"
	"github.com/kube-octavia/kube-octavia/internal/operate/doctor"
)

// servers lists the servers of the project, if a controller of Nodes is enabled.
func (c *cloud) servers(ctx context.Context, controllers doctor.Controllers) doctor.Read[[]instances.Server] {
	if !controllers.Nodes() {
		return notAsked[[]instances.Server]("no controller of Nodes is enabled")
	}
	compute, err := c.session.Compute(instances.Microversion)
	if err != nil {
		return notAsked[[]instances.Server]("the service catalogue has no Nova, see check " + string(doctor.Catalogue))
	}
	return read(instances.NewCloud(compute, c.session.Network(), c.session.ProjectID()).Servers(ctx))
}

// readPodRouter reads the router with the routes to Pods, if controller route is enabled.
func (c *cloud) readPodRouter(ctx context.Context, n *doctor.Network, controllers doctor.Controllers) {
	id := c.config.Route.RouterID
	if !controllers.Route || id == "" {
		n.PodRouter, n.AtomicRoutes = notAsked[*routes.Router]("controller route has no router"), notAsked[bool]("controller route has no router")
		return
	}
	neutron := routes.NewCloud(c.session.Network(), c.session.ProjectID())
	inParallel(
		func() {
			router, err := neutron.Router(ctx, id)
			if gone, other := openstack.UnlessGone(err); gone || other != nil {
				n.PodRouter = read[*routes.Router](nil, other)
				return
			}
			n.PodRouter = doctor.Value(&router)
		},
		func() { n.AtomicRoutes = read(neutron.Atomic(ctx)) },
	)
}
