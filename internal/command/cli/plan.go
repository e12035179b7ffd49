// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/command/command"
	"github.com/kube-octavia/kube-octavia/internal/command/connection"
	"github.com/kube-octavia/kube-octavia/internal/command/output"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/operate/report"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/planner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/service"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
)

// planOptions holds the flags of `kube-octavia plan`.
type planOptions struct {
	connection connection.Options
	logging    command.Logging
	services   namespaceFlags
	output     string
}

var planFormats = output.Formats{output.Text, output.JSON, output.YAML, output.Name}

// Plans is the output of `kube-octavia plan`.
type Plans struct {
	// Items are the Services.
	Items []ServicePlan `json:"items"`
}

// ServicePlan is the plan of the controller for one Service.
type ServicePlan struct {
	// Namespace and Service name the Service.
	Namespace string `json:"namespace"`
	Service   string `json:"name"`
	// LoadBalancerID is the id of its load balancer, and Status the provisioning status in Octavia. Both are omitted if
	// it has none.
	LoadBalancerID string                `json:"loadBalancerID,omitempty"`
	Status         lb.ProvisioningStatus `json:"provisioningStatus,omitempty"`
	// Ops are the writes, in order.
	Ops []PlannedOp `json:"ops"`
	// OnlyObserved is whether the ops are not done, because of --adopt=observe.
	OnlyObserved bool `json:"onlyObserved,omitempty"`
	// Refused has the reasons why the Service is not served as its spec requests.
	Refused []diff.Refusal `json:"refused,omitempty"`
	// NotHandled is the reason why the controller does not handle the Service.
	NotHandled string `json:"notHandled,omitempty"`
	// Error is the error of a call that failed.
	Error string `json:"error,omitempty"`
}

// PlannedOp is a write.
type PlannedOp struct {
	Kind string `json:"kind"`
	// Text describes it in words.
	Text string `json:"text"`
	// Op has all details of the operation. Its keys depend on kind.
	Op diff.Op `json:"op"`
}

func newPlan(streams IO, version string) *cobra.Command {
	var o planOptions
	c := &cobra.Command{
		Use:   "plan [SERVICE...]",
		Short: "Show what the controller would do, without doing it",
		Long: "Reads the cloud and each SERVICE, or all Services, and prints the operations that the controller would do now.\n" +
			serviceUsage + "\n" +
			settingsUsage + "\n" +
			"Exit status: 0 nothing to do, 2 something to do, 1 an error or a Service that is refused.",
		Args: command.Args,
		RunE: func(c *cobra.Command, args []string) error {
			if err := takeSettings(c, streams, &o.connection, func(p *command.Problems) { o.check(p, args) }); err != nil {
				return err
			}
			return o.run(c.Context(), o.logging.Logger(streams), args, streams, version)
		},
	}
	o.connection.AddFlags(c.Flags())
	o.connection.AddAdoptFlag(c.Flags())
	o.connection.AddSettingsFlags(c.Flags())
	o.logging.AddFlags(c.Flags())
	o.services.addFlags(c)
	addOutputFlag(c, &o.output, planFormats)
	completeServices(c, &o.connection)
	return c
}

func (o *planOptions) check(p *command.Problems, args []string) {
	o.connection.Check(p)
	o.logging.Check(p)
	o.services.check(p, args)
	checkOutput(p, o.output, planFormats)
}

func (o *planOptions) run(ctx context.Context, log logr.Logger, args []string, streams IO, version string) error {
	view, err := o.connection.Look(ctx, log, version)
	if err != nil {
		return err
	}
	defer view.Session.Close()
	planner := view.Planner
	services, err := o.read(ctx, planner.Options.Reader, view.Cluster.Namespace(), args)
	if err != nil {
		return err
	}
	found := []ServicePlan{}
	for i := range services {
		switch s := &services[i]; {
		case planner.Options.Policy.Serves(s) || planner.Options.Policy.Leaves(s):
			found = append(found, planOf(ctx, planner, service.Kind{Policy: planner.Options.Policy, Config: planner.Options.Config}.Of(s)))
		case len(args) > 0:
			found = append(found, ServicePlan{Namespace: s.Namespace, Service: s.Name, Ops: []PlannedOp{}, NotHandled: planner.Options.Policy.WhyNotServed(s)})
		}
	}
	if len(found) == 0 {
		place := "the cluster"
		if o.services.namespace != "" {
			place = "namespace " + o.services.namespace
		}
		streams.Note(report.Unhandled(planner.Options.Policy, place, services))
	}
	err = o.print(streams.Out, found)
	if unclassed := report.Unclassed(planner.Options.Policy, services); len(args) == 0 && len(found) > 0 && unclassed != "" && o.output == string(output.Text) {
		fmt.Fprintln(streams.Out, unclassed)
	}
	return cmp.Or(view.UnknownProviders, err)
}

// read reads the named Services, or all. A named Service must exist, and so must the namespace.
func (o *planOptions) read(ctx context.Context, reader client.Reader, contextNamespace string, args []string) ([]corev1.Service, error) {
	if len(args) == 0 {
		var list corev1.ServiceList
		if err := reader.List(ctx, &list, client.InNamespace(o.services.namespace)); err != nil {
			return nil, fmt.Errorf("list Services: %w", err)
		}
		if len(list.Items) == 0 && o.services.namespace != "" {
			return nil, namespaceMissing(ctx, reader, o.services.namespace)
		}
		return list.Items, nil
	}
	var named []corev1.Service
	for _, arg := range args {
		service, err := readService(ctx, reader, arg, o.services.namespace, contextNamespace)
		if err != nil {
			return nil, err
		}
		named = append(named, service)
	}
	return named, nil
}

func planOf(ctx context.Context, from *planner.Planner, of claim.Owner) ServicePlan {
	p := ServicePlan{Namespace: of.Key.Namespace, Service: of.Key.Name, Ops: []PlannedOp{}}
	plan, observed, err := from.Plan(ctx, of)
	if err != nil {
		p.Error = err.Error()
		return p
	}
	if l := observed.LoadBalancer; l != nil {
		p.LoadBalancerID, p.Status = l.ID, l.ProvisioningStatus
	}
	p.Refused, p.OnlyObserved = plan.Refused, from.OnlyObserves(of, observed)
	for _, op := range plan.Ops {
		p.Ops = append(p.Ops, PlannedOp{Kind: diff.Kind(op), Text: op.String(), Op: op})
	}
	return p
}

func (o *planOptions) print(out io.Writer, all []ServicePlan) error {
	switch format := output.Format(o.output); {
	case format.Structured():
		if err := output.Write(out, format, output.PlanList, Plans{all}); err != nil {
			return err
		}
	case format == output.Name:
		for _, p := range all {
			if err := output.WriteName(out, p.Service); err != nil {
				return err
			}
		}
	default:
		for _, p := range all {
			p.print(out)
		}
	}
	ops, failures := 0, []error{}
	for _, p := range all {
		if !p.OnlyObserved {
			ops += len(p.Ops)
		}
		if p.Error != "" {
			failures = append(failures, fmt.Errorf("%s/%s: %s", p.Namespace, p.Service, p.Error))
		}
		for _, r := range p.Refused {
			if refuses(r) {
				failures = append(failures, fmt.Errorf("%s/%s: refused (%s)", p.Namespace, p.Service, r.Reason))
			}
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

// refuses reports whether the Service cannot be served as its spec requests. A Service that waits for another one of
// its group, or whose differences are not repaired because its author wants that, is not refused.
func refuses(r diff.Refusal) bool {
	return r.Reason != status.ReasonWaitingForGroup && r.Reason != status.ReasonDrifted
}

func (p ServicePlan) print(out io.Writer) {
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
		what := "refused"
		if !refuses(r) {
			what = "not done"
		}
		fmt.Fprintf(out, "  %s (%s): %s\n", what, r.Reason, r.Message)
	}
	switch {
	case p.Error != "":
		fmt.Fprintf(out, "  error: %s\n", p.Error)
	case len(p.Ops) == 0 && p.Status.Pending():
		fmt.Fprintln(out, "  Octavia is working on the load balancer; run this command again when it is ACTIVE")
	case len(p.Ops) == 0 && len(p.Refused) == 0:
		fmt.Fprintln(out, "  nothing to do")
	case p.OnlyObserved:
		fmt.Fprintln(out, "  only observed; with --adopt=tag these operations would be done:")
	}
	for i, op := range p.Ops {
		fmt.Fprintf(out, "  %d. %s\n", i+1, op.Text)
	}
}
