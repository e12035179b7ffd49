// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/command/command"
	"github.com/kube-octavia/kube-octavia/internal/command/connection"
	"github.com/kube-octavia/kube-octavia/internal/operate/othercontroller"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
)

// settingsUsage explains the default of --cloud-config.
const settingsUsage = "Without --cloud-config, it uses the settings of the controller in the cluster."

// takeSettings checks the flags of a command, takes over those of the controller that were not given, unless --cloud-config
// is set, and checks them again.
func takeSettings(c *cobra.Command, streams IO, from *connection.Options, check func(*command.Problems)) error {
	var p command.Problems
	check(&p)
	if err := p.Err(); err != nil {
		return err
	}
	if err := from.FindSettings(c.Context(), c.Flags(), os.Getenv, streams.Note); err != nil {
		return err
	}
	check(&p)
	return p.Err()
}

// leaseNamespaceUsage explains the flag of the commands that look for the Lease.
const leaseNamespaceUsage = "namespace of the controller's Lease; default: that of the only Lease of a controller for --load-balancer-class, or " + defaultLeaseNamespace

// findLease returns the Lease of the controller that the policy describes: the one that the flags name or, without a
// namespace, the one that is found in the cluster. named is whether the name was given, too. If there is none, or
// Leases may not be listed, it is the Lease of the manifests. explain adds advice to an error of Kubernetes.
func findLease(ctx context.Context, reader client.Reader, explain func(error) error, policy claim.Policy, flags othercontroller.LeaseName, named bool) (othercontroller.LeaseName, error) {
	if flags.Namespace != "" {
		return flags, nil
	}
	assumed := othercontroller.LeaseName{Namespace: defaultLeaseNamespace, Name: flags.Name}
	all, err := othercontroller.ReadInstances(ctx, reader)
	if apierrors.IsForbidden(err) {
		return assumed, nil
	}
	if err != nil {
		return assumed, explain(err)
	}
	name := flags.Name
	if !named {
		name = ""
	}
	switch found := othercontroller.LeasesOf(all, policy, name, time.Now()); len(found) {
	case 0:
		return assumed, nil
	case 1:
		return found[0], nil
	default:
		var names []string
		for _, l := range found {
			names = append(names, l.String())
		}
		return assumed, fmt.Errorf("several controllers for --load-balancer-class %s have a Lease (%s): choose one with --leader-elect-resource-namespace and --leader-elect-resource-name",
			policy.LoadBalancerClass, strings.Join(names, ", "))
	}
}
