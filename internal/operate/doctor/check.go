// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

// Check is the name of a check.
type Check string

// The checks.
const (
	Configuration    Check = "configuration"
	Credentials      Check = "credentials"
	Catalogue        Check = "catalogue"
	Features         Check = "features"
	Providers        Check = "providers"
	Networks         Check = "networks"
	Addresses        Check = "addresses"
	Quotas           Check = "quotas"
	SecurityGroups   Check = "security-groups"
	Clock            Check = "clock"
	Kubernetes       Check = "kubernetes"
	OtherControllers Check = "other-controllers"
	Annotations      Check = "annotations"
	LoadBalancers    Check = "load-balancers"
	Orphans          Check = "orphans"
	Nodes            Check = "nodes"
	Routes           Check = "routes"
)
