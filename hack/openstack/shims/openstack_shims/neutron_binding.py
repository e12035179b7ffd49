# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""An ML2 mechanism driver that binds every port without an agent, so that Nova's servers get ACTIVE
ports; and a driver for trunks of such ports, without which Neutron does not load the service plugin
for trunks."""

from neutron.services.trunk.drivers import base
from neutron_lib import constants
from neutron_lib.api.definitions import portbindings
from neutron_lib.plugins.ml2 import api
from neutron_lib.services.trunk import constants as trunk


class BindAllTrunkDriver(base.DriverBase):
    """Registers itself when the service plugin for trunks starts."""

    @property
    def is_loaded(self):
        return True


class BindAllMechanismDriver(api.MechanismDriver):

    def initialize(self):
        self.trunk_driver = BindAllTrunkDriver(
            'bind_all', (portbindings.VIF_TYPE_OVS,), (trunk.SEGMENTATION_TYPE_VLAN,),
            can_trunk_bound_port=True)

    @property
    def connectivity(self):
        return portbindings.CONNECTIVITY_L2

    def bind_port(self, context):
        segment = next(iter(context.segments_to_bind), None)
        if segment is not None:
            context.set_binding(segment[api.ID], portbindings.VIF_TYPE_OVS,
                                {portbindings.CAP_PORT_FILTER: True},
                                status=constants.PORT_STATUS_ACTIVE)
