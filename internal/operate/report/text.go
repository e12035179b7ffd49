// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// told has the description of each outcome. Outcomes that need an operator's attention come first.
var told = []struct {
	outcome Outcome
	text    string
}{
	{OutcomeUnknown, "a call failed"},
	{OutcomeForeign, "the load balancer belongs to something else"},
	{OutcomeRefused, "cannot be served, completely or in part"},
	{OutcomeChanged, "would be taken over, then changed"},
	{OutcomeCreated, "has no load balancer and would get one"},
	{OutcomeReleased, "no longer needs a load balancer, which would be deleted"},
	{OutcomeBusy, "the load balancer is PENDING or in ERROR"},
	{OutcomeAdopted, "would be taken over unchanged"},
	{OutcomeServed, "is already taken over"},
	{OutcomeLeftAlone, "is not handled by this controller"},
}

// Print prints the number of Services with each outcome, a table of all Services, why they are not taken over
// unchanged, and what belongs to none of them.
func (m Migration) Print(out io.Writer) error {
	count := map[Outcome]int{}
	for _, s := range m.Services {
		count[s.Outcome]++
	}
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintf(w, "%d Services:\n", len(m.Services))
	for _, t := range told {
		if n := count[t.outcome]; n > 0 {
			fmt.Fprintf(w, "  %d\t%s\t%s\n", n, t.outcome, t.text)
		}
	}
	fmt.Fprintln(w, "\nNAMESPACE\tNAME\tOUTCOME\tLOAD BALANCER\tADDRESS")
	for _, s := range m.Services {
		row(w, s.Namespace, s.Name, string(s.Outcome), s.LoadBalancerID, s.Address)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, t := range told {
		for _, s := range m.Services {
			if s.Outcome == t.outcome {
				printService(out, s)
			}
		}
	}
	if len(m.Others) > 0 {
		fmt.Fprintln(out, "\nLoad balancers of other Services:")
	}
	for _, o := range m.Others {
		fmt.Fprintf(out, "\n%s (%s)\n  %s\n", o.Name, o.ID, o.Reason)
	}
	if len(m.SecurityGroups) > 0 {
		fmt.Fprintln(out, "\nSecurity groups of Services:")
	}
	for _, g := range m.SecurityGroups {
		fmt.Fprintf(out, "\n%s (%s): %s\n  %s\n", g.Name, g.ID, g.Outcome, g.Reason)
	}
	return printKuryr(out, m.Kuryr)
}

// printKuryr prints what Kuryr left, which the controller does not remove.
func printKuryr(out io.Writer, marks []KuryrMark) error {
	if len(marks) == 0 {
		return nil
	}
	fmt.Fprintln(out, "\nLeft by Kuryr in the cluster, to be removed after the takeover:")
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "\nNAMESPACE\tNAME\tFINALIZER OF SERVICE\tKURYRLOADBALANCER\tITS FINALIZERS")
	for _, m := range marks {
		row(w, m.Namespace, m.Name, yes(m.ServiceFinalizer), yes(m.Object), strings.Join(m.ObjectFinalizers, ","))
	}
	return w.Flush()
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

// printService prints why a Service is not taken over unchanged, and what would be done.
func printService(out io.Writer, s ServiceMigration) {
	if s.Outcome.Unchanged() && len(s.Reasons) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s/%s: %s\n", s.Namespace, s.Name, s.Outcome)
	for _, reason := range s.Reasons {
		fmt.Fprintf(out, "  %s\n", reason)
	}
	for i, op := range s.Ops {
		fmt.Fprintf(out, "  %d. %s\n", i+1, op.Text)
	}
}

// row prints one line of a table, with a dash for empty cells.
func row(w io.Writer, cells ...string) {
	for i, cell := range cells {
		if i > 0 {
			fmt.Fprint(w, "\t")
		}
		fmt.Fprint(w, cmp.Or(cell, "-"))
	}
	fmt.Fprintln(w)
}
