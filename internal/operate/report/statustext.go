// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kube-octavia/kube-octavia/internal/operate/tree"
)

// StatusFormat is a text format of a Survey.
type StatusFormat string

// The formats.
const (
	StatusText StatusFormat = "text"
	StatusWide StatusFormat = "wide"
	StatusTree StatusFormat = "tree"
)

// StatusPrinter prints a StatusList, and after that only the changes.
type StatusPrinter struct {
	Format StatusFormat
	// Now returns the time, to compute ages.
	Now func() time.Time
	// Width is the width of the terminal, or 0. In format StatusText the Services and the messages fit into it, if
	// possible.
	Width int

	columns columns
	// left are the columns that did not fit when the first StatusList was printed.
	left map[int]bool
	last *StatusList
}

// Print prints the StatusList or, after the first one, the differences from the previous one. If nothing differs, it prints
// nothing.
func (p *StatusPrinter) Print(out io.Writer, s StatusList) error {
	shown := StatusChange{StatusList: s}
	if p.last != nil {
		shown = ChangeOf(*p.last, s)
		if shown.Empty() {
			return nil
		}
	}
	first := p.last == nil
	p.last = &s
	var b bytes.Buffer
	p.services(&b, shown.Services, s.Conflicts, first)
	if err := p.sections(&b, shown.StatusList); err != nil {
		return err
	}
	if len(shown.Gone) > 0 {
		fmt.Fprintln(&b, "\nGONE")
		for _, line := range shown.Gone {
			fmt.Fprintln(&b, line)
		}
	}
	if first {
		fmt.Fprintf(&b, "\n%s\n", footer(s))
		if s.Unclassed != "" {
			fmt.Fprintln(&b, s.Unclassed)
		}
	}
	_, err := out.Write(b.Bytes())
	return err
}

// services prints the rows or trees of the Services.
func (p *StatusPrinter) services(out io.Writer, services []ServiceStatus, conflicts []Conflict, first bool) {
	if p.Format == StatusTree {
		for _, v := range services {
			io.WriteString(out, v.tree().String())
		}
		return
	}
	var lines [][]string
	if first {
		lines = append(lines, p.cells(nil, nil))
	}
	for _, v := range services {
		lines = append(lines, p.cells(&v, conflicts))
	}
	if first && p.narrow() {
		p.left = leaveOut(lines, p.Width)
	}
	for i := range lines {
		lines[i] = without(lines[i], p.left)
	}
	p.columns.fit(lines...)
	for _, cells := range lines {
		p.columns.print(out, cells)
	}
}

// narrow reports whether the width is limited.
func (p *StatusPrinter) narrow() bool { return p.Format == StatusText && p.Width > 0 }

// cells returns the cells of a Service's row, or the titles of the columns.
func (p *StatusPrinter) cells(v *ServiceStatus, conflicts []Conflict) (cells []string) {
	title := v == nil
	if title {
		v = &ServiceStatus{}
	}
	add := func(wide bool, name, cell string) {
		switch {
		case wide && p.Format != StatusWide:
		case title:
			cells = append(cells, name)
		default:
			cells = append(cells, cell)
		}
	}
	add(false, "NAMESPACE", v.Namespace)
	add(false, "NAME", v.Name)
	add(false, "LOAD BALANCER", v.LoadBalancerID)
	add(true, "LOAD BALANCER NAME", v.LoadBalancerName)
	add(false, "PROVISIONING", string(v.ProvisioningStatus))
	add(false, "OPERATING", v.OperatingStatus)
	add(false, "MEMBERS", v.Members.String())
	add(false, "ADDRESS", strings.Join(v.Published, ","))
	add(true, "VIP", strings.Join(v.VIPs, ","))
	add(true, "FLOATING IP", strings.Join(v.FloatingIPs, ","))
	add(false, "PROGRAMMED", v.Programmed)
	add(false, "REASON", v.Reason)
	add(false, "DRIFT", v.Drift.String())
	add(false, "CONFLICT", conflictsOf(v, conflicts))
	add(false, "LAST CHANGE", p.age(v.LastChange))
	add(false, "OBJECTS", strconv.Itoa(v.Objects.Sum()))
	add(true, "LISTENERS", strconv.Itoa(v.Objects.Listeners))
	add(true, "POOLS", strconv.Itoa(v.Objects.Pools))
	add(true, "HEALTH MONITORS", strconv.Itoa(v.Objects.HealthMonitors))
	return cells
}

// String returns the number of members that are up and the total, or only the total if the statuses are
// unknown.
func (m *Members) String() string {
	switch {
	case m == nil:
		return ""
	case m.Unknown != "":
		return "?/" + strconv.Itoa(m.Total)
	case m.Up == nil:
		return strconv.Itoa(m.Total)
	case m.Total > 0 && m.Unmonitored == m.Total:
		return fmt.Sprintf("%d (no monitor)", m.Total)
	case m.Unmonitored > 0:
		return fmt.Sprintf("%d/%d (%d no monitor)", *m.Up, m.Total, m.Unmonitored)
	}
	return fmt.Sprintf("%d/%d", *m.Up, m.Total)
}

// String returns the number of differences, or "".
func (d Drift) String() string {
	switch n := len(d.Ops) + len(d.Held); {
	case d.Unknown != "":
		return "unknown"
	case n > 0:
		return strconv.Itoa(n)
	}
	return ""
}

// conflictsOf returns with what the Service has conflicts.
func conflictsOf(v *ServiceStatus, conflicts []Conflict) string {
	var with []string
	for _, c := range conflicts {
		if c.Namespace == v.Namespace && c.Name == v.Name {
			with = append(with, cmp.Or(c.With, "yes"))
		}
	}
	return strings.Join(with, ", ")
}

// age returns the age of the change, and what has changed, if not the load balancer.
func (p *StatusPrinter) age(c LastChange) string {
	if c.Time == nil {
		return ""
	}
	text := duration.HumanDuration(max(p.Now().Sub(c.Time.Time), 0)) // clocks differ
	if c.Of == ofCondition {
		text += " (condition)"
	}
	return text
}

// sections prints what is not in the rows. Empty sections are omitted.
func (p *StatusPrinter) sections(out io.Writer, s StatusList) error {
	w := tabwriter.NewWriter(out, 0, 0, len(gap), ' ', 0)
	section := func(title string, lines [][]string) {
		if len(lines) > 0 {
			fmt.Fprintln(w, "\n"+title)
		}
		for _, cells := range lines {
			row(w, cells...)
		}
	}
	messageSection := func(title string, lines [][]string) {
		if !p.narrow() {
			section(title, lines)
			return
		}
		p.messages(w, title, lines)
	}
	var messages, drift, orphans, conflicts, ports [][]string
	for _, v := range s.Services {
		if v.Programmed != string(metav1.ConditionTrue) && v.Message != "" {
			messages = append(messages, []string{v.Namespace, v.Name, v.Message})
		}
		if v.NotServing() {
			messages = append(messages, []string{v.Namespace, v.Name, "does not serve (" + v.Serving.Reason + "): " + v.Serving.Message})
		}
		for _, line := range v.Drift.lines() {
			drift = append(drift, []string{v.Namespace, v.Name, line})
		}
		if m := v.Members; m != nil && m.Unknown != "" {
			messages = append(messages, []string{v.Namespace, v.Name, m.Unknown})
		}
	}
	for _, o := range s.Orphans {
		orphans = append(orphans, []string{o.Kind, o.ID, o.Name, strings.TrimPrefix(o.Services(), "Service uid "), o.InUse})
	}
	for _, c := range s.Conflicts {
		conflicts = append(conflicts, []string{c.Kind, c.ID, c.Namespace, c.Name, c.With, c.Message})
	}
	for _, o := range s.LeftPorts {
		ports = append(ports, []string{o.Kind, o.ID, o.Name})
	}
	messageSection("NAMESPACE\tNAME\tMESSAGE", messages)
	messageSection("NAMESPACE\tNAME\tDRIFT", drift)
	section("ORPHAN\tID\tNAME\tOF SERVICE UID\tIN USE", orphans)
	section("CONFLICT\tID\tNAMESPACE\tNAME\tWITH\tMESSAGE", conflicts)
	section("LEFT BEHIND\tID\tNAME", ports)
	return w.Flush()
}

// leastMessage is the minimum width of the column of messages.
const leastMessage = 40

// messages prints a section whose last column is text, which is wrapped.
func (p *StatusPrinter) messages(w io.Writer, title string, lines [][]string) {
	if len(lines) == 0 {
		return
	}
	var names columns
	names.fit(strings.Split(title, "\t"))
	for _, cells := range lines {
		names.fit(cells[:len(cells)-1])
	}
	room := p.Width
	for _, width := range names.widths[:len(names.widths)-1] {
		room -= width + len(gap)
	}
	fmt.Fprintln(w, "\n"+title)
	for _, cells := range lines {
		last := len(cells) - 1
		for i, line := range wrap(cells[last], max(room, leastMessage)) {
			if i > 0 {
				fmt.Fprintln(w, strings.Repeat("\t", last)+line)
				continue
			}
			row(w, append(slices.Clone(cells[:last]), line)...)
		}
	}
}

// lines returns one line for each difference.
func (d Drift) lines() (all []string) {
	for _, op := range d.Ops {
		all = append(all, op.Text)
	}
	all = append(all, d.Held...)
	if d.Unknown != "" {
		all = append(all, "unknown: "+d.Unknown)
	}
	return all
}

// footer returns the number of objects of the Services.
func footer(s StatusList) string {
	counted := func(n int, what string) string {
		if n != 1 {
			what += "s"
		}
		return fmt.Sprintf("%d %s", n, what)
	}
	o := s.Objects
	return counted(len(s.Services), "Service") + ": " + strings.Join([]string{
		counted(o.LoadBalancers, "load balancer"), counted(o.Listeners, "listener"), counted(o.Pools, "pool"),
		counted(o.Members, "member"), counted(o.HealthMonitors, "health monitor"), counted(o.FloatingIPs, "floating IP"),
	}, ", ")
}

// tree returns the Service with its load balancer and its parts.
func (v ServiceStatus) tree() tree.Node {
	root := tree.Node{Text: strings.TrimSpace(fmt.Sprintf("%s/%s Programmed=%s %s", v.Namespace, v.Name, v.Programmed, v.Reason))}
	if len(v.Published) > 0 {
		root.Text += ", " + strings.Join(v.Published, ", ")
	}
	if v.NotServing() {
		root.Text += ", does not serve: " + v.Serving.Reason
	}
	if v.ProvisioningStatus == "" {
		root.Below = []tree.Node{{Text: "no load balancer"}}
		return root
	}
	balancer := tree.Node{Text: fmt.Sprintf("load balancer %s (%s) %s", v.LoadBalancerName, v.LoadBalancerID, states(string(v.ProvisioningStatus), v.OperatingStatus))}
	if v.Shared {
		balancer.Text += ", of another owner"
	}
	if len(v.VIPs) > 0 {
		balancer.Text += ", VIP " + strings.Join(v.VIPs, ", ")
	}
	if len(v.FloatingIPs) > 0 {
		balancer.Text += ", floating IP " + strings.Join(v.FloatingIPs, ", ")
	}
	for _, part := range v.Parts {
		n := part.tree()
		if part.Kind == poolKind {
			n.Text += ", used by no listener"
		}
		balancer.Below = append(balancer.Below, n)
	}
	root.Below = []tree.Node{balancer}
	return root
}

func (p Part) tree() tree.Node {
	kind := p.Kind
	if kind == monitorKind {
		kind = "health monitor"
	}
	what := []string{kind}
	switch p.Kind {
	case listenerKind:
		what = append(what, p.Protocol+"/"+strconv.Itoa(p.Port))
	case memberKind:
		what = append(what, p.Address+" port "+strconv.Itoa(p.Port))
	default:
		what = append(what, p.Protocol)
	}
	if p.Kind == memberKind && p.Name != "" {
		what = append(what, p.Name)
	}
	n := tree.Node{Text: fmt.Sprintf("%s (%s) %s", strings.Join(what, " "), p.ID, states(string(p.ProvisioningStatus), p.OperatingStatus))}
	for _, below := range p.Parts {
		n.Below = append(n.Below, below.tree())
	}
	return n
}

// states joins the two statuses of an object. Octavia shows no operating status of pools that no listener uses.
func states(provisioning, operating string) string {
	if operating == "" {
		return provisioning
	}
	return provisioning + "/" + operating
}
