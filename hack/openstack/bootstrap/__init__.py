# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a cloud has from the start, made through its APIs: users, networks,
servers, a flavor; and the files that tell clients where everything is.

    python3 -m bootstrap identity|resources|ports|data-plane SETTINGS

SETTINGS is a JSON file that openstack-up writes. Every step looks first
whether something is there, so that it can be repeated."""
