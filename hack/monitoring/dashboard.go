// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

//lint:file-ignore SA1019 Only the newest Grafana reads the newer schema of dashboards; every Grafana in use reads this
//one.

package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// row is a row of panels.
type row struct {
	title  string
	panels []panel
}

// panel is a panel: a graph, or a number.
type panel struct {
	title, description string
	// unit is an id from Grafana's list of units.
	unit    string
	queries []query
	// number shows only the current value.
	number bool
	// width is in columns, of which there are 24. 0 means a third of them for a graph and a sixth
	// for a number.
	width uint32
	// noValue is shown if there is no data, for queries that normally have no result.
	noValue string
	// stacked adds the series of a graph up.
	stacked bool
	// red is the value from which on a number is red; below it is green. 0 means no colours.
	red float64
	// redBelow makes a number red below the value instead.
	redBelow bool
}

// query is a query in PromQL with the name of its series. SEL stands for the labels of the selected
// replicas.
type query struct{ expr, legend string }

// selection has the labels by which the variables of the dashboard select replicas.
const selection = `namespace=~"$namespace", job=~"$job", instance=~"$instance"`

const (
	graphHeight = 8
	statHeight  = 4
)

// build returns the dashboard with these rows.
func build(rows []row) (dashboard.Dashboard, error) {
	b := dashboard.NewDashboardBuilder("kube-octavia").
		Uid("kube-octavia").
		Description("Load balancers of Kubernetes Services on OpenStack Octavia. The first row shows whether something is wrong. docs/reference/metrics.md explains the metrics, docs/runbooks what to do.").
		Tags([]string{"kube-octavia", "kubernetes", "openstack"}).
		Time("now-6h", "now").
		Refresh("1m").
		Tooltip(dashboard.DashboardCursorSyncCrosshair).
		Editable()
	for _, v := range variables() {
		b.WithVariable(v)
	}
	id := uint32(0)
	next := func() uint32 { id++; return id }
	for _, r := range rows {
		b.WithRow(dashboard.NewRowBuilder(r.title).Id(next()))
		for _, p := range r.panels {
			if p.number {
				b.WithPanel(numberOf(p).Id(next()))
			} else {
				b.WithPanel(graphOf(p).Id(next()))
			}
		}
	}
	return b.Build()
}

// variables returns the data source, and namespace, job and instance as Prometheus labels what it scrapes. All
// values are selected by default, even if Prometheus does not set one of these labels.
func variables() []cog.Builder[dashboard.VariableModel] {
	all := []cog.Builder[dashboard.VariableModel]{
		dashboard.NewDatasourceVariableBuilder("datasource").Label("Data source").Type("prometheus"),
	}
	matchers := ""
	for _, label := range []string{"namespace", "job", "instance"} {
		values := fmt.Sprintf("label_values(kube_octavia_pending_load_balancers{%s}, %s)", matchers, label)
		all = append(all, dashboard.NewQueryVariableBuilder(label).
			Label(strings.ToUpper(label[:1])+label[1:]).
			Datasource(source()).
			Query(dashboard.StringOrMap{String: &values}).
			Refresh(dashboard.VariableRefreshOnTimeRangeChanged).
			Sort(dashboard.VariableSortAlphabeticalAsc).
			Multi(true).
			IncludeAll(true).
			AllValue(".*").
			Current(dashboard.VariableOption{
				Text:  dashboard.StringOrArrayOfString{ArrayOfString: []string{"All"}},
				Value: dashboard.StringOrArrayOfString{ArrayOfString: []string{"$__all"}},
			}))
		matchers = strings.TrimPrefix(matchers+fmt.Sprintf(`, %s=~"$%s"`, label, label), ", ")
	}
	return all
}

// source refers to the data source that the user selects.
func source() common.DataSourceRef {
	return common.DataSourceRef{Type: cog.ToPtr("prometheus"), Uid: cog.ToPtr("${datasource}")}
}

// targets returns the queries of a panel.
func targets(p panel) []cog.Builder[variants.Dataquery] {
	var all []cog.Builder[variants.Dataquery]
	for i, q := range p.queries {
		target := prometheus.NewDataqueryBuilder().
			Datasource(source()).
			Expr(strings.ReplaceAll(q.expr, "SEL", selection)).
			LegendFormat(q.legend).
			RefId(string(rune('A' + i)))
		if p.number {
			target.Instant()
		} else {
			target.Range()
		}
		all = append(all, target)
	}
	return all
}

// numberOf returns a panel with a number for each series.
func numberOf(p panel) *stat.PanelBuilder {
	b := stat.NewPanelBuilder().
		Title(p.title).Description(p.description).Datasource(source()).Unit(p.unit).
		Height(statHeight).Span(cmp.Or(p.width, 4)).
		Targets(targets(p)).
		ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"})).
		Orientation(common.VizOrientationAuto).
		TextMode(common.BigValueTextModeAuto).
		JustifyMode(common.BigValueJustifyModeAuto).
		GraphMode(common.BigValueGraphModeNone).
		ColorMode(common.BigValueColorModeValue).
		Thresholds(thresholds(p))
	if p.noValue != "" {
		b.NoValue(p.noValue)
	}
	return b
}

// thresholds returns the colours of a number.
func thresholds(p panel) cog.Builder[dashboard.ThresholdsConfig] {
	steps := []dashboard.Threshold{{Color: "text"}}
	switch {
	case p.redBelow:
		steps = []dashboard.Threshold{{Color: "red"}, {Color: "green", Value: &p.red}}
	case p.red != 0:
		steps = []dashboard.Threshold{{Color: "green"}, {Color: "red", Value: &p.red}}
	}
	return dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).Steps(steps)
}

// graphOf returns a panel with a line for each series.
func graphOf(p panel) *timeseries.PanelBuilder {
	b := timeseries.NewPanelBuilder().
		Title(p.title).Description(p.description).Datasource(source()).Unit(p.unit).Min(0).
		Height(graphHeight).Span(cmp.Or(p.width, 8)).
		Targets(targets(p)).
		Legend(common.NewVizLegendOptionsBuilder().ShowLegend(true).
			DisplayMode(common.LegendDisplayModeList).Placement(common.LegendPlacementBottom)).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending)).
		LineWidth(1).FillOpacity(10).ShowPoints(common.VisibilityModeNever)
	if p.stacked {
		b.Stacking(common.NewStackingConfigBuilder().Mode(common.StackingModeNormal).Group("A")).FillOpacity(40)
	}
	if p.noValue != "" {
		b.NoValue(p.noValue)
	}
	return b
}
