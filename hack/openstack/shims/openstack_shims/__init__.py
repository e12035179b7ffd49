# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""Drivers and entry points with which OpenStack's services run without agents, virtual machines and
a message broker. See README.md of hack/openstack."""
