// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"fmt"
	"path"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// ReadSecret returns the cloud.conf in the Secret of the controller. The reader must not have a cache.
func (s Settings) ReadSecret(ctx context.Context, reader client.Reader) (config.Config, error) {
	var secret corev1.Secret
	if err := reader.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: s.Secret}, &secret); err != nil {
		return config.Config{}, fmt.Errorf("read %s: %w", s.SecretName(), err)
	}
	text, there := secret.Data[s.SecretKey]
	if !there {
		return config.Config{}, fmt.Errorf("%s has no key %s", s.SecretName(), s.SecretKey)
	}
	return ParseSecret(s.SecretName(), text, secret.Data)
}

// SecretName names the Secret in messages.
func (s Settings) SecretName() string { return fmt.Sprintf("Secret %s/%s", s.Namespace, s.Secret) }

// ParseSecret reads a cloud.conf outside the Pod for which it was written. Certificates that cloud.conf names are files
// only in the Pod, so the CA is read from its key in the Secret.
func ParseSecret(name string, text []byte, keys map[string][]byte) (config.Config, error) {
	c, err := config.Parse(name, text)
	if err != nil {
		return config.Config{}, err
	}
	g := &c.Global
	switch {
	case g.UseClouds:
		return config.Config{}, fmt.Errorf("%s: [Global] use-clouds is true, and clouds.yaml is a file of the controller: set $OS_CLOUD or the variables of an openrc file, or --cloud-config", name)
	case g.CertFile != "":
		return config.Config{}, fmt.Errorf("%s: [Global] cert-file is a file of the controller: set $OS_CLOUD or the variables of an openrc file, or --cloud-config", name)
	case g.CAFile == "":
		return c, nil
	}
	ca, there := keys[path.Base(g.CAFile)]
	if !there {
		return config.Config{}, fmt.Errorf("%s: [Global] ca-file %s is a file of the controller, and the Secret has no key %s: set $OS_CLOUD or the variables of an openrc file, or --cloud-config",
			name, g.CAFile, path.Base(g.CAFile))
	}
	g.CAFile, g.CAFileContents = "", string(ca)
	return c, nil
}
