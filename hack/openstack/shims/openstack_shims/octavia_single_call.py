# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""When Octavia 11.0.0 creates a load balancer with its children in one call, it forgets the
children: they stay PENDING_CREATE forever while the load balancer is ACTIVE. This module fixes two
bugs, as later versions do:

- ControllerWorker.run_flow passes the listeners to the engine of the flow, but not to the function
  that builds the flow, which therefore builds one without listeners.
- The flow with listeners lacks the task that looks up the amphorae's networks, which one of its
  tasks needs.

For projects whose id is the name of a file in OCTAVIA_UNPATCHED, load balancers are created as in
Octavia 11.0.0.
"""

import os

from octavia.common import constants
from octavia.controller.worker.v2 import controller_worker
from octavia.controller.worker.v2.flows import load_balancer_flows
from octavia.controller.worker.v2.tasks import amphora_driver_tasks
from octavia.controller.worker.v2.tasks import network_tasks
from octavia.db import api
from octavia.db import repositories
from taskflow.listeners import logging

UNPATCHED = os.environ['OCTAVIA_UNPATCHED']

original_run_flow = controller_worker.ControllerWorker.run_flow


def is_unpatched(load_balancer_id):
    projects = os.listdir(UNPATCHED)
    return projects and repositories.LoadBalancerRepository().get(
        api.get_session(), id=load_balancer_id).project_id in projects


def run_flow(self, build, *arguments, store=None, **options):
    if options.get('listeners') and is_unpatched(store[constants.LOADBALANCER_ID]):
        return original_run_flow(self, build, *arguments, store=store, **options)
    engine = self.tf_engine.taskflow_load(build(*arguments, **options),
                                          store=store)
    with logging.DynamicLoggingListener(engine, log=controller_worker.LOG):
        engine.run()


create_listeners = load_balancer_flows.LoadBalancerFlows._create_listeners_flow


def create_listeners_with_networks(self):
    tasks = create_listeners(self)
    needs_networks = next(
        index for index, task in enumerate(tasks)
        if isinstance(task, amphora_driver_tasks.AmphoraePostNetworkPlug))
    tasks.insert(needs_networks, network_tasks.GetAmphoraeNetworkConfigs(
        requires=constants.LOADBALANCER_ID,
        provides=constants.AMPHORAE_NETWORK_CONFIG))
    return tasks


def patch():
    controller_worker.ControllerWorker.run_flow = run_flow
    load_balancer_flows.LoadBalancerFlows._create_listeners_flow = (
        create_listeners_with_networks)
