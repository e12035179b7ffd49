# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""Certificates of amphorae that do not exist: one for all, instead of a new
RSA key for each load balancer."""

import os

from octavia.certificates.common import local
from octavia.certificates.generator import cert_gen
from oslo_config import cfg


class OneCertificateGenerator(cert_gen.CertGenerator):

    def generate_cert_key_pair(self, cn, validity, bit_length=2048,
                               passphrase=None, **kwargs):
        certificate = cfg.CONF.controller_worker.client_ca
        key = os.path.splitext(certificate)[0] + '.key'
        return local.LocalCert(certificate=content(certificate),
                               private_key=content(key))

    def sign_cert(self, csr, validity, **kwargs):
        return content(cfg.CONF.controller_worker.client_ca)


def content(path):
    with open(path, 'rb') as file:
        return file.read()
