// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package topologyfacts

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// withoutSecrets reads everything except Secrets, which it refuses without a call.
type withoutSecrets struct{ client.Reader }

var errSecretNotRead = errors.New("the topology page reads no Secrets, so it is unknown what the controller does for a new certificate")

// Get implements client.Reader.
func (r withoutSecrets) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	if _, secret := into.(*corev1.Secret); secret {
		return errSecretNotRead
	}
	return r.Reader.Get(ctx, key, into, options...)
}

// List implements client.Reader.
func (r withoutSecrets) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	if _, secrets := into.(*corev1.SecretList); secrets {
		return errSecretNotRead
	}
	return r.Reader.List(ctx, into, options...)
}
