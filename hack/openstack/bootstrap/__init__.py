# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""The initial objects of a cloud, created through its APIs: users, networks, servers, a flavor; and
the configuration files of clients.

    python3 -m bootstrap identity|resources|ports|data-plane SETTINGS

SETTINGS is a JSON file that openstack-up writes. Every step checks what already exists, so that it
can be repeated."""
