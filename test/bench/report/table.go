// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Format is how tables are printed.
type Format string

// The formats.
const (
	Text     Format = "text"
	Markdown Format = "markdown"
)

// WriteTables writes all rows, then the ratios between the two controllers, further
// figures, and failures. Markdown, which is for docs, also has the calls by route.
func (d *Document) WriteTables(w io.Writer, format Format) error {
	tables := []table{d.results(), d.ratios(), d.figures(), d.failures()}
	if format == Markdown {
		tables = append(tables, d.routes())
		m := d.Machine
		_, err := fmt.Fprintf(w, "Measured on %s: %s, %d processors (%s), load average %s before the run. Cloud: %s.\n\n",
			d.Date, m.OS, m.CPUs, m.Processor, m.LoadAverage, d.Cloud)
		if err != nil {
			return err
		}
	}
	for _, t := range tables {
		if len(t.rows) == 0 {
			continue
		}
		if err := t.write(w, format); err != nil {
			return err
		}
	}
	return nil
}

// table is a heading line and rows of the same length.
type table struct {
	title string
	head  []string
	rows  [][]string
}

func (t *table) write(w io.Writer, format Format) error {
	if format == Markdown {
		return t.writeMarkdown(w)
	}
	if _, err := fmt.Fprintf(w, "%s\n\n", t.title); err != nil {
		return err
	}
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{t.head}, t.rows...) {
		fmt.Fprintln(columns, strings.Join(row, "\t"))
	}
	fmt.Fprintln(columns)
	return columns.Flush()
}

func (t *table) writeMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**\n\n| %s |\n|%s\n", t.title, strings.Join(t.head, " | "), strings.Repeat(" --- |", len(t.head)))
	for _, row := range t.rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
	}
	_, err := fmt.Fprintln(w, b.String())
	return err
}

func (d *Document) results() table {
	t := table{title: "Cost and time, compared with the limit of the cloud", head: []string{"scenario", "size", "controller", "calls", "per Service",
		"writes", "writes needed", "calls / needed", "seconds", "limit", "ratio", "p50", "p90", "p99", "CPU s", "MB"}}
	for _, r := range d.Rows {
		if r.Failure != "" {
			continue
		}
		times := cmp.Or(r.Times, &Percentiles{})
		t.rows = append(t.rows, []string{r.Scenario, r.size(), r.Controller, strconv.Itoa(r.Calls), number(r.CallsPerService()),
			strconv.Itoa(r.Writes), strconv.Itoa(r.LimitWrites), ratio(r.CallsRatio()), number(r.Seconds), number(r.LimitSeconds), ratio(r.SecondsRatio()),
			orDash(times.P50), orDash(times.P90), orDash(times.P99), number(r.CPUSeconds), number(r.MB)})
	}
	return t
}

// ratios compares the rows of the two controllers that belong together.
func (d *Document) ratios() table {
	t := table{title: "The other controller, divided by this one", head: []string{"scenario", "size", "calls", "writes", "seconds", "CPU", "MB"}}
	for _, r := range d.Rows {
		other := d.counterpart(r)
		if other == nil {
			continue
		}
		of := func(other, this float64) string { return ratio(Ratio(other, this)) }
		t.rows = append(t.rows, []string{r.Scenario, r.size(), of(float64(other.Calls), float64(r.Calls)), of(float64(other.Writes), float64(r.Writes)),
			of(other.Seconds, r.Seconds), of(other.CPUSeconds, r.CPUSeconds), of(other.MB, r.MB)})
	}
	return t
}

// counterpart returns the row of the other controller for a row of this one; nil if there is none.
func (d *Document) counterpart(r *Row) *Row {
	if r.Controller != This || r.Failure != "" {
		return nil
	}
	for _, other := range d.Rows {
		if other.Controller == Versus && other.Failure == "" && other.Scenario == r.Scenario && other.Services == r.Services && other.Ports == r.Ports {
			return other
		}
	}
	return nil
}

func (d *Document) figures() table {
	t := table{title: "Further figures", head: []string{"scenario", "size", "controller", "figure", "value"}}
	for _, r := range d.Rows {
		for _, f := range r.Figures {
			t.rows = append(t.rows, []string{r.Scenario, r.size(), r.Controller, f.Name, strings.TrimSpace(number(f.Value) + " " + f.Unit)})
		}
	}
	return t
}

// routes has the calls of each row, the most frequent first.
func (d *Document) routes() table {
	t := table{title: "Calls by route", head: []string{"scenario", "size", "controller", "calls", "route"}}
	for _, r := range d.Rows {
		byCalls := func(a, b string) int { return cmp.Or(r.Routes[b]-r.Routes[a], cmp.Compare(a, b)) }
		for _, route := range slices.SortedFunc(maps.Keys(r.Routes), byCalls) {
			t.rows = append(t.rows, []string{r.Scenario, r.size(), r.Controller, strconv.Itoa(r.Routes[route]), "`" + route + "`"})
		}
	}
	return t
}

func (d *Document) failures() table {
	t := table{title: "Failed", head: []string{"scenario", "size", "controller", "why"}}
	for _, r := range d.Rows {
		if r.Failure != "" {
			// The first line says what was waited for, the last one is that of the controller's log.
			lines := strings.Split(strings.TrimSpace(r.Failure), "\n")
			why := lines[0]
			if len(lines) > 1 {
				why += " " + lines[len(lines)-1]
			}
			t.rows = append(t.rows, []string{r.Scenario, r.size(), r.Controller, why})
		}
	}
	return t
}

func (r *Row) size() string { return fmt.Sprintf("%d x %d, %d nodes", r.Services, r.Ports, r.Nodes) }

// number has two digits after the point, or fewer if they are zero or do not matter.
func number(v float64) string {
	digits := 2
	if v >= 100 {
		digits = 0
	}
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

func orDash(v float64) string {
	if v == 0 {
		return "-"
	}
	return number(v)
}

// ratio returns a dash if there is nothing to compare with.
func ratio(v float64) string {
	if v == 0 {
		return "-"
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}
