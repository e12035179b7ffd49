// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/command"
	"github.com/kube-octavia/kube-octavia/internal/connection"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/planner"
	"github.com/kube-octavia/kube-octavia/internal/report"
)

// planOptions holds the flags of `kube-octavia plan`.
type planOptions struct {
	connection connection.Options
	logging    command.Logging
	namespace  string
	output     string
}

// servicePlan is what the controller would do for one Service.
type servicePlan struct {
	Namespace      string                `json:"namespace"`
	Service        string                `json:"service"`
	LoadBalancerID string                `json:"loadBalancerID,omitempty"`
	Status         lb.ProvisioningStatus `json:"provisioningStatus,omitempty"`
	Ops            []plannedOp           `json:"ops"`
	// OnlyObserved is whether the ops are what would be done but for --adopt=observe.
	OnlyObserved bool `json:"onlyObserved,omitempty"`
	// Refused says why the Service is not served as it is written.
	Refused []diff.Refusal `json:"refused,omitempty"`
	// NotHandled says why the controller does not handle the Service.
	NotHandled string `json:"notHandled,omitempty"`
	// Error says why a call failed.
	Error string `json:"error,omitempty"`
}

type plannedOp struct {
	Kind string  `json:"kind"`
	Text string  `json:"text"`
	Op   diff.Op `json:"op"`
}

func newPlan(streams IO, version string) *cobra.Command {
	var o planOptions
	c := &cobra.Command{
		Use:   "plan [SERVICE]",
		Short: "Show what the controller would do, without doing it",
		Long: "Reads the cloud and SERVICE, or all Services, and prints the operations that the controller would do now.\n" +
			"SERVICE is a name or NAMESPACE/NAME.\n" +
			"Exit status: 0 nothing to do, 2 something to do, 1 an error.",
		Args: command.Args,
		RunE: func(c *cobra.Command, args []string) error {
			var p command.Problems
			if o.check(&p); p.Err() != nil {
				return p.Err()
			}
			return o.run(c.Context(), o.logging.Logger(streams), args, streams, version)
		},
	}
	o.connection.AddFlags(c.Flags())
	o.connection.AddAdoptFlag(c.Flags())
	o.logging.AddFlags(c.Flags())
	c.Flags().StringVarP(&o.namespace, "namespace", "n", "", namespaceUsage)
	c.Flags().StringVarP(&o.output, "output", "o", "text", "output format: text or json")
	return c
}

func (o *planOptions) check(p *command.Problems) {
	o.connection.Check(p)
	o.logging.Check(p)
	checkOutput(p, o.output)
}

func (o *planOptions) run(ctx context.Context, log logr.Logger, args []string, streams IO, version string) error {
	view, err := o.connection.Look(ctx, log, version)
	if err != nil {
		return err
	}
	defer view.Session.Close()
	planner := view.Planner
	services, err := o.services(ctx, planner.Reader, view.Cluster.Namespace(), args)
	if err != nil {
		return err
	}
	plans := []servicePlan{}
	for i := range services {
		switch service := &services[i]; {
		case planner.Serves(service) || planner.Leaves(service):
			plans = append(plans, planOf(ctx, planner, service))
		case len(args) > 0:
			plans = append(plans, servicePlan{Namespace: service.Namespace, Service: service.Name, Ops: []plannedOp{}, NotHandled: planner.WhyNotServed(service)})
		}
	}
	if len(plans) == 0 {
		place := "the cluster"
		if o.namespace != "" {
			place = "namespace " + o.namespace
		}
		streams.Note(report.Unhandled(planner.Policy, place, services))
	}
	if err := o.print(streams.Out, plans); view.UnknownProviders == nil {
		return err
	}
	return view.UnknownProviders
}

// services reads the one that is named, or all. One that is named must exist, and so must the namespace.
func (o *planOptions) services(ctx context.Context, reader client.Reader, contextNamespace string, args []string) ([]corev1.Service, error) {
	if len(args) == 0 {
		var list corev1.ServiceList
		if err := reader.List(ctx, &list, client.InNamespace(o.namespace)); err != nil {
			return nil, fmt.Errorf("list Services: %w", err)
		}
		if len(list.Items) == 0 && o.namespace != "" {
			return nil, namespaceMissing(ctx, reader, o.namespace)
		}
		return list.Items, nil
	}
	key, err := serviceKey(args[0], o.namespace, contextNamespace)
	if err != nil {
		return nil, err
	}
	service, err := readService(ctx, reader, key, o.namespace == "" && !strings.Contains(args[0], "/"))
	return []corev1.Service{service}, err
}

func planOf(ctx context.Context, from *planner.Planner, service *corev1.Service) servicePlan {
	p := servicePlan{Namespace: service.Namespace, Service: service.Name, Ops: []plannedOp{}}
	plan, observed, err := from.Plan(ctx, service)
	if err != nil {
		p.Error = err.Error()
		return p
	}
	if l := observed.LoadBalancer; l != nil {
		p.LoadBalancerID, p.Status = l.ID, l.ProvisioningStatus
	}
	p.Refused, p.OnlyObserved = plan.Refused, from.OnlyObserves(service, observed)
	for _, op := range plan.Ops {
		p.Ops = append(p.Ops, plannedOp{Kind: diff.Kind(op), Text: op.String(), Op: op})
	}
	return p
}

func (o *planOptions) print(out io.Writer, plans []servicePlan) error {
	if o.output == "json" {
		if err := printJSON(out, plans); err != nil {
			return err
		}
	} else {
		for _, p := range plans {
			p.print(out)
		}
	}
	ops, failures := 0, []error{}
	for _, p := range plans {
		if !p.OnlyObserved {
			ops += len(p.Ops)
		}
		if p.Error != "" {
			failures = append(failures, fmt.Errorf("%s/%s: %s", p.Namespace, p.Service, p.Error))
		}
	}
	switch {
	case len(failures) > 0:
		return errors.Join(failures...)
	case ops > 0:
		return errDifferences
	}
	return nil
}

func (p servicePlan) print(out io.Writer) {
	if p.NotHandled != "" {
		fmt.Fprintf(out, "%s/%s: not handled: %s\n", p.Namespace, p.Service, p.NotHandled)
		return
	}
	state := "no load balancer"
	if p.LoadBalancerID != "" {
		state = fmt.Sprintf("load balancer %s, %s", p.LoadBalancerID, p.Status)
	}
	fmt.Fprintf(out, "%s/%s: %s\n", p.Namespace, p.Service, state)
	for _, r := range p.Refused {
		fmt.Fprintf(out, "  refused (%s): %s\n", r.Reason, r.Message)
	}
	switch {
	case p.Error != "":
		fmt.Fprintf(out, "  error: %s\n", p.Error)
	case len(p.Ops) == 0 && p.Status.Pending():
		fmt.Fprintln(out, "  Octavia is working on the load balancer; run this command again when it is ACTIVE")
	case len(p.Ops) == 0:
		fmt.Fprintln(out, "  nothing to do")
	case p.OnlyObserved:
		fmt.Fprintln(out, "  only observed; with --adopt=tag these operations would be done:")
	}
	for i, op := range p.Ops {
		fmt.Fprintf(out, "  %d. %s\n", i+1, op.Text)
	}
}
