// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

// Origin says from where a command has the configuration and its login.
type Origin int

// The origins.
const (
	// FromFile is the file of --cloud-config.
	FromFile Origin = iota
	// FromSecret is the Secret of the controller, so that the login is that of the controller.
	FromSecret
	// FromEnvironment means that the settings are those of the controller, but the login is that of the environment: it
	// may be a person's, who has other rights.
	FromEnvironment
)
