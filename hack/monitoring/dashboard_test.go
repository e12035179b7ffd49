// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/test/openstack"
)

// shown is a panel as Grafana reads it.
type shown struct {
	Type, Title, Description string
	Datasource               struct{ Type, UID string }
	FieldConfig              struct {
		Defaults struct{ Unit, NoValue string }
	}
	Targets []struct {
		Expr, LegendFormat string
		Datasource         struct{ UID string }
	}
}

// panels returns the panels of the dashboard in the chart, without rows.
func panels(t *testing.T) []shown {
	t.Helper()
	var d struct{ Panels []shown }
	if err := json.Unmarshal([]byte(file(t, dashboardFile)), &d); err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(d.Panels, func(p shown) bool { return p.Type == "row" })
}

// variableQueries returns the metrics and labels whose values the variables offer.
func variableQueries(t *testing.T) (queries []string) {
	t.Helper()
	var d struct {
		Templating struct {
			List []struct{ Type, Query string }
		}
	}
	if err := json.Unmarshal([]byte(file(t, dashboardFile)), &d); err != nil {
		t.Fatal(err)
	}
	for _, v := range d.Templating.List {
		if v.Type == "query" {
			queries = append(queries, regexp.MustCompile(`^label_values\((.*), (\w+)\)$`).ReplaceAllString(v.Query, "count by ($2) ($1)"))
		}
	}
	return queries
}

// selected replaces the variables as Grafana does if everything is selected.
var selected = strings.NewReplacer("$namespace", ".*", "$job", ".*", "$instance", ".*", "$__rate_interval", "2m")

func TestEveryPanelHasADescriptionAUnitAndQueries(t *testing.T) {
	titles := map[string]bool{}
	for _, p := range panels(t) {
		if p.Title == "" || titles[p.Title+p.Type] {
			t.Errorf("the title %q is empty, or that of two panels", p.Title)
		}
		titles[p.Title+p.Type] = true
		if !strings.HasSuffix(p.Description, ".") || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 || p.Datasource.UID != "${datasource}" {
			t.Errorf("%s: description %q, unit %q, %d queries, data source %v", p.Title, p.Description, p.FieldConfig.Defaults.Unit, len(p.Targets), p.Datasource)
		}
		for _, q := range p.Targets {
			for _, variable := range []string{"$namespace", "$job", "$instance"} {
				if !strings.Contains(q.Expr, variable) {
					t.Errorf("%s: %s does not depend on %s", p.Title, q.Expr, variable)
				}
			}
			if q.Datasource.UID != "${datasource}" {
				t.Errorf("%s: a query has the data source %s", p.Title, q.Datasource.UID)
			}
		}
	}
	if len(titles) < 40 {
		t.Errorf("there are only %d panels", len(titles))
	}
}

// unused are metrics and labels that do not exist.
func unused(expr string, known map[string][]string) []string {
	parsed, err := parser.ParseExpr(expr)
	if err != nil {
		return []string{err.Error()}
	}
	var problems []string
	require := func(metrics []string, label string) {
		if !slices.ContainsFunc(metrics, func(m string) bool { return slices.Contains(known[m], label) }) {
			problems = append(problems, fmt.Sprintf("%v has no label %s", metrics, label))
		}
	}
	parser.Inspect(parsed, func(n parser.Node, _ []parser.Node) error {
		switch n := n.(type) {
		case *parser.VectorSelector:
			if _, exists := known[n.Name]; !exists {
				problems = append(problems, "there is no metric "+n.Name)
				return nil
			}
			for _, m := range n.LabelMatchers {
				if m.Name != model.MetricNameLabel {
					require([]string{n.Name}, m.Name)
				}
			}
		case *parser.AggregateExpr:
			for _, label := range n.Grouping {
				require(metricsOf(n.Expr), label)
			}
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				for _, label := range n.VectorMatching.MatchingLabels {
					require(metricsOf(n.LHS), label)
					require(metricsOf(n.RHS), label)
				}
			}
		}
		return nil
	})
	return problems
}

// metricsOf returns the names of the metrics in an expression.
func metricsOf(expr parser.Expr) (names []string) {
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if s, is := n.(*parser.VectorSelector); is {
			names = append(names, s.Name)
		}
		return nil
	})
	return names
}

func TestAMetricOrLabelThatDoesNotExistIsFound(t *testing.T) {
	known := map[string][]string{"up": {"job"}, "down": {"job", "zone"}}
	for expr, want := range map[string][]string{
		`sum by (job) (up)`:              nil,
		`up and on (job) down`:           nil,
		`sum by (job) (rate(upp[5m]))`:   {"[upp] has no label job", "there is no metric upp"},
		`up{zone="a"}`:                   {"[up] has no label zone"},
		`max by (zone) (up)`:             {"[up] has no label zone"},
		`up and on (zone) down`:          {"[up] has no label zone"},
		`max by (zone) (up or down) > 1`: nil,
	} {
		t.Run(expr, func(t *testing.T) {
			if diff := cmp.Diff(want, unused(expr, known)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if unused("sum(", known) == nil {
		t.Error("a syntax error is not found")
	}
}

// documented returns the labels of each metric in docs/reference/metrics.md.
func documented(t *testing.T) map[string][]string {
	t.Helper()
	metrics := map[string][]string{}
	row := regexp.MustCompile("(?m)^\\| `(kube_octavia_[a-z_]+)` \\| (\\w+) \\|([^|]*)\\|")
	for _, m := range row.FindAllStringSubmatch(file(t, "docs/reference/metrics.md"), -1) {
		names := []string{}
		for _, name := range regexp.MustCompile("`([a-z]+)`").FindAllStringSubmatch(m[3], -1) {
			names = append(names, name[1])
		}
		slices.Sort(names)
		if m[2] == "histogram" {
			m[1] += "_count"
		}
		metrics[m[1]] = names
	}
	return metrics
}

// calm runs a controller that serves Services without any problems.
func (l *live) calm() {
	stop := l.start()
	l.service("web")
	l.service("api")
	l.service("lost")
	l.until(`sum(kube_octavia_services{reason="Programmed"}) == 3`)
	l.patch("web", `{"spec":{"ports":[{"name":"http","port":80},{"name":"https","port":443}]}}`)
	l.until(`sum(kube_octavia_ops_total{kind="CreateListener"}) > 0 and sum(kube_octavia_services{reason="Programmed"}) == 3`)
	l.drop("api")
	l.until(`sum(kube_octavia_services) == 2 and on () kube_octavia_pending_load_balancers == 0 and on () kube_octavia_orphans{kind="loadbalancer"} == 0`)
	for range 10 {
		l.scrape()
	}
	stop()
}

// storm runs one controller that only observes, and another one that encounters all kinds of
// problems.
func (l *live) storm() {
	stop := l.start("--adopt=observe")
	l.service("observed")
	l.until(`sum(kube_octavia_observe_only_services) >= 1`)
	stop()

	// Its finalizer is removed manually.
	l.drop("lost")
	l.patch("lost", `{"metadata":{"finalizers":null}}`)

	stop = l.start()
	defer stop()
	l.until(`kube_octavia_orphans{kind="loadbalancer"} > 0`)
	l.until(`sum(kube_octavia_services{reason="Programmed"}) == 2`)
	user, admin := openstack.SimulatedUser(l.cloud), openstack.SimulatedAdmin(l.cloud)
	l.failures(admin)
	l.drift(user)

	// Other writers of the Service.
	l.until(`kube_octavia_conflicting_writes_total{where="kubernetes"} > 0 and on () kube_octavia_conflicting_controller_services > 0`, func() {
		l.patch("observed", `{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.9"}]}}}`, "status")
	})

	// Nodes that cannot be reached.
	l.addNode(l.namespace+"-no-address", "", corev1.NodeSpec{})
	l.addNode(l.namespace+"-elsewhere", "10.99.0.9", corev1.NodeSpec{ProviderID: "aws:///1"})
	l.until(`kube_octavia_nodes_without_address > 0 and on () kube_octavia_security_group_nodes_unattached > 0`)

	l.cloud.ExpireTokens()
	l.until(`kube_octavia_openstack_reauthentications_total{result="renewed"} > 0`)
	login := l.expiringLogin()
	l.writeConf(login)
	l.until(`kube_octavia_openstack_credential_expiry_timestamp_seconds > 0`)
	l.writeConf(regexp.MustCompile(`(application-credential-secret *=).*`).ReplaceAllString(login, "$1 wrong"))
	l.until(`kube_octavia_openstack_configuration_rejected > 0`)
	l.scrape()
}

// nodes runs a controller for Nodes and routes that fails: one Node has no server, and another one no address.
func (l *live) nodes() {
	l.writeConf(l.cloud.CloudConf())
	conf, err := os.ReadFile(l.path("cloud.conf"))
	if err != nil {
		l.t.Fatal(err)
	}
	if err := cloudsim.WriteFile(l.path("cloud.conf"), string(conf)+"[Route]\nrouter-id="+l.cloud.IDs().Router+"\n"); err != nil {
		l.t.Fatal(err)
	}
	taint := corev1.Taint{Key: "node.cloudprovider.kubernetes.io/uninitialized", Effect: corev1.TaintEffectNoSchedule}
	l.addNode(l.namespace+"-new", "", corev1.NodeSpec{Taints: []corev1.Taint{taint}})
	l.addNode(l.namespace+"-apart", "10.99.0.10", corev1.NodeSpec{PodCIDR: "10.244.7.0/24", PodCIDRs: []string{"10.244.7.0/24"}})
	stop := l.start("--controllers=node,route", "--cluster-cidr=10.244.0.0/16")
	defer stop()
	l.until(`kube_octavia_nodes_uninitialized == 1 and on () kube_octavia_longest_node_uninitialized_seconds > 0 and on () kube_octavia_nodes_without_route > 0`)
}

// failures causes calls that fail, are throttled, exceed a quota, and take long.
func (l *live) failures(admin openstack.Requester) {
	create := wire.Fault{Service: cloudsim.LoadBalancer, Method: http.MethodPost, Route: "/v2.0/lbaas/loadbalancers", Kind: wire.FaultStatus, Times: 1}
	for i := range 2 {
		for _, status := range []int{http.StatusInternalServerError, http.StatusTooManyRequests} {
			fault, name := create, fmt.Sprintf("failed-%d-%d", status, i)
			fault.Status, fault.Header = status, map[string]string{"Retry-After": "1"}
			l.cloud.Faults().Add(fault)
			l.service(name)
			l.until(fmt.Sprintf(`sum(kube_octavia_openstack_request_duration_seconds_count{status="%d"}) == %d`, status, i+1))
			l.until(`sum(kube_octavia_services{reason="Programmed"}) == 3`)
			l.drop(name)
			l.until(`sum(kube_octavia_services) == 2`)
		}
	}
	path := "/v2.0/lbaas/quotas/" + l.cloud.IDs().Project
	l.call(admin, cloudsim.LoadBalancer, http.MethodPut, path, map[string]any{"quota": map[string]int{"load_balancer": 0}}, nil)
	for i := range 2 {
		l.service(fmt.Sprint("too-many-", i))
		l.until(fmt.Sprintf(`sum(kube_octavia_ops_total{class="Quota"}) > %d and on () kube_octavia_services{reason="QuotaExceeded"} == %d`, i, i+1))
	}
	for i := range 2 {
		l.drop(fmt.Sprint("too-many-", i))
	}
	l.call(admin, cloudsim.LoadBalancer, http.MethodPut, path, map[string]any{"quota": map[string]int{"load_balancer": -1}}, nil)
	l.until(`sum(kube_octavia_services) == 2`)

	l.cloud.Octavia().HoldPending("")
	l.service("slow")
	l.until(`kube_octavia_longest_pending_seconds > 0 and kube_octavia_pending_load_balancers > 0`)
	l.cloud.Octavia().Release("")
	l.until(`sum(kube_octavia_services{reason="Programmed"}) == 3`)
	l.drop("slow")
	l.until(`sum(kube_octavia_services) == 2`)
}

// drift changes load balancers as another client would. One of the changes must not be repaired.
func (l *live) drift(user openstack.Requester) {
	l.service("kept", "kube-octavia.io/drift-policy", "report")
	l.until(`sum(kube_octavia_services{reason="Programmed"}) == 3`)
	for _, change := range []struct{ service, metric string }{{"web", "repaired"}, {"kept", "reported"}} {
		var status struct {
			LoadBalancer struct{ Pools []struct{ ID string } }
		}
		l.call(user, cloudsim.LoadBalancer, http.MethodGet, "/v2.0/lbaas/loadbalancers/"+l.loadBalancer(change.service), nil, &status)
		pool := "/v2.0/lbaas/pools/" + status.LoadBalancer.Pools[0].ID
		var algorithm struct {
			Pool struct {
				Algorithm string `json:"lb_algorithm"`
			}
		}
		// The time of a change has whole seconds, so a change may not be detected. It is repeated until
		// it is.
		l.until(fmt.Sprintf(`sum(kube_octavia_drift_%s_total) > 0 and on () kube_octavia_drift_detected_total{kind="loadbalancer"} > 0`, change.metric), func() {
			l.call(user, cloudsim.LoadBalancer, http.MethodGet, pool, nil, &algorithm)
			if algorithm.Pool.Algorithm != "LEAST_CONNECTIONS" {
				_ = openstack.Call(l.t.Context(), user, cloudsim.LoadBalancer, http.MethodPut, pool, map[string]any{"pool": map[string]any{"lb_algorithm": "LEAST_CONNECTIONS"}}, nil)
			}
		})
	}
	l.drop("kept")
	l.until(`sum(kube_octavia_services) == 2`)
}

// seldom are the alerts that these tests cannot cause: the problem lasts longer than a test, there are no metrics, or
// another controller is needed, whose metric the end-to-end tests check.
var seldom = []string{"KubeOctaviaAbsent", "KubeOctaviaNoLeader", "KubeOctaviaServiceNotProgrammed", "KubeOctaviaServiceNotServing", "KubeOctaviaLoadBalancerStuck", "KubeOctaviaOtherController", "KubeOctaviaNodeNotInitialized"}

// TestDashboardAndAlertsShowAControllerThatRuns scrapes a controller without problems, and with all kinds of
// problems.
func TestDashboardAndAlertsShowAControllerThatRuns(t *testing.T) {
	l := newLive(t)
	l.calm()
	well := l.at
	l.storm()
	l.nodes()
	known := l.prom.labelsOf()

	t.Run("what metrics.md says of its metrics is so", func(t *testing.T) {
		for metric, want := range documented(t) {
			got, exists := known[metric]
			if !exists {
				t.Errorf("there is no %s", metric)
				continue
			}
			got = slices.DeleteFunc(slices.Clone(got), func(name string) bool { return target.Has(name) })
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("labels of %s (-page +scraped):\n%s", metric, diff)
			}
		}
	})
	t.Run("alerts", func(t *testing.T) {
		for _, rule := range alerts(t) {
			for _, problem := range unused(rule.Expr, known) {
				t.Errorf("%s: %s", rule.Alert, problem)
			}
			if active := l.prom.query(t, rule.Expr, well); len(active) > 0 {
				t.Errorf("%s: all was well, and it is pending: %v", rule.Alert, active)
			}
			if !slices.Contains(seldom, rule.Alert) && !l.everHas(t, rule.Expr, well) {
				t.Errorf("%s: it was never pending in the trouble", rule.Alert)
			}
		}
	})
	t.Run("variables", func(t *testing.T) {
		queries := variableQueries(t)
		for _, q := range queries {
			expr := selected.Replace(q)
			if problems, found := unused(expr, known), l.prom.query(t, expr, well); len(problems) > 0 || len(found) != 1 {
				t.Errorf("%s: %v, values %v", expr, problems, found)
			}
		}
		if len(queries) != 3 {
			t.Errorf("the variables have the queries %q", queries)
		}
	})
	t.Run("panels", func(t *testing.T) {
		for _, p := range panels(t) {
			for _, q := range p.Targets {
				expr := selected.Replace(q.Expr)
				for _, problem := range unused(expr, known) {
					t.Errorf("%s: %s", p.Title, problem)
				}
				if p.FieldConfig.Defaults.NoValue == "" && len(l.prom.query(t, expr, well)) == 0 {
					t.Errorf("%s: all was well, and there are no data for %s", p.Title, q.Expr)
				}
				if !l.everHas(t, expr, began) {
					t.Errorf("%s: there are never data for %s", p.Title, q.Expr)
				}
				l.requireLegend(t, p.Title, expr, q.LegendFormat)
			}
		}
	})
}

// everHas reports whether a query ever has a result since then.
func (l *live) everHas(t *testing.T, expr string, since time.Time) bool {
	t.Helper()
	for at := since; !at.After(l.at); at = at.Add(scrapeInterval) {
		if len(l.prom.query(t, expr, at)) > 0 {
			return true
		}
	}
	return false
}

// requireLegend fails the test unless the legend distinguishes the series of a query, by labels that they
// have.
func (l *live) requireLegend(t *testing.T, title, expr, legend string) {
	t.Helper()
	var named []string
	for _, m := range regexp.MustCompile(`{{(\w+)}}`).FindAllStringSubmatch(legend, -1) {
		named = append(named, m[1])
	}
	have := map[string]bool{}
	for at := began; !at.After(l.at); at = at.Add(scrapeInterval) {
		for _, sample := range l.prom.query(t, expr, at) {
			sample.Metric.Range(func(label labels.Label) { have[label.Name] = true })
		}
	}
	slices.Sort(named)
	if diff := cmp.Diff(named, slices.Sorted(maps.Keys(have))); diff != "" {
		t.Errorf("%s: labels of %s (-legend +series):\n%s", title, expr, diff)
	}
}
