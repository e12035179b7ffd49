// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

// Origin is the origin of a command's configuration and login.
type Origin int

// The origins.
const (
	// FromFile means the file of --cloud-config.
	FromFile Origin = iota
	// FromSecret means the Secret of the controller, so that the login is that of the controller.
	FromSecret
	// FromEnvironment means that the settings are those of the controller, but the login comes from the environment: it
	// may be that of a user with other rights.
	FromEnvironment
)
