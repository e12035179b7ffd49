// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/template"
)

// alertsFile is the path of the alerts, runbooks the URL of their runbooks.
const (
	alertsFile = "charts/kube-octavia/files/alerts.yaml"
	runbooks   = "https://github.com/kube-octavia/kube-octavia/blob/main/docs/runbooks/"
)

// alerts reads the alerts as Prometheus does, which also checks their templates.
func alerts(t *testing.T) []rulefmt.Rule {
	t.Helper()
	groups, errs := rulefmt.Parse([]byte(file(t, alertsFile)), false, model.UTF8Validation)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return groups.Groups[0].Rules
}

// interval is the time between two scrapes, and between two evaluations of the alerts.
const interval = time.Minute

// began is the time at which the tests of alerts begin.
var began = time.Unix(1_800_000_000, 0)

// alertTest describes when an alert fires.
type alertTest struct {
	// calm are series in the normal state, in which the alert is never pending, in the notation of promtool.
	calm []string
	// trouble are series for which the alert fires after the time, not earlier, until the problem ends.
	trouble []string
	after   time.Duration
	ends    time.Duration
	// labels and summary are those of the first alert.
	labels  map[string]string
	summary string
}

// replica are the labels that Prometheus adds to the metrics of a Pod.
const replica = `namespace="kube-octavia", job="kube-octavia-metrics", instance="10.0.0.7:8080"`

// standby is replica for another Pod.
const standby = `namespace="kube-octavia", job="kube-octavia-metrics", instance="10.0.0.8:8080"`

// one returns a series of the replica.
func one(metric, labels, values string) string {
	return fmt.Sprintf("%s{%s} %s", metric, strings.TrimPrefix(labels+", "+replica, ", "), values)
}

// alertTests are by the name of the alert. Times are in minutes.
var alertTests = map[string]alertTest{
	"KubeOctaviaAbsent": {
		calm:    []string{one("kube_octavia_longest_pending_seconds", "", "0x240")},
		trouble: []string{one("kube_octavia_longest_pending_seconds", "", "0x20 stale _x58 0x160")},
		after:   31 * time.Minute, ends: 80 * time.Minute,
		labels:  map[string]string{"severity": "critical"},
		summary: "kube-octavia does not run, or is not scraped.",
	},
	"KubeOctaviaNoLeader": {
		calm: []string{
			one("kube_octavia_longest_pending_seconds", "", "0x240"), one("leader_election_master_status", `name="kube-octavia"`, "1x240"),
			"kube_octavia_longest_pending_seconds{" + standby + "} 0x240", `leader_election_master_status{name="kube-octavia", ` + standby + "} 0x240",
			// Leases of other controllers are ignored.
			`leader_election_master_status{name="other", namespace="other", job="other", instance="10.0.0.9:8080"} 0x240`,
		},
		trouble: []string{
			one("kube_octavia_longest_pending_seconds", "", "0x240"), one("leader_election_master_status", `name="kube-octavia"`, "1x20 0x240"),
			"kube_octavia_longest_pending_seconds{" + standby + "} 0x240", `leader_election_master_status{name="kube-octavia", ` + standby + "} 0x60 1x200",
		},
		after: 26 * time.Minute, ends: 61 * time.Minute,
		labels:  map[string]string{"severity": "critical", "namespace": "kube-octavia", "job": "kube-octavia-metrics", "name": "kube-octavia"},
		summary: "No replica of kube-octavia is active.",
	},
	"KubeOctaviaServiceNotProgrammed": {
		calm: []string{
			one("kube_octavia_longest_not_programmed_seconds", `reason="Creating"`, "0+30x20 0x220"),
			one("kube_octavia_longest_not_programmed_seconds", `reason="NotAccepted"`, "0+60x240"),
			one("kube_octavia_longest_not_programmed_seconds", `reason="Drifted"`, "0+60x240"),
			one("kube_octavia_longest_not_programmed_seconds", `reason="ConflictingController"`, "0+60x240"),
		},
		trouble: []string{one("kube_octavia_longest_not_programmed_seconds", `reason="QuotaExceeded"`, "0+60x40 0x200")},
		after:   16 * time.Minute, ends: 41 * time.Minute,
		labels:  map[string]string{"severity": "warning", "reason": "QuotaExceeded"},
		summary: "A Service has not been programmed for 16m 0s (QuotaExceeded).",
	},
	"KubeOctaviaServiceNotServing": {
		calm: []string{
			one("kube_octavia_longest_not_serving_seconds", `reason="NoMembers"`, "0+30x9 0x231"),
			one("kube_octavia_longest_not_serving_seconds", `reason="NotProgrammed"`, "0+60x240"),
		},
		trouble: []string{one("kube_octavia_longest_not_serving_seconds", `reason="AllMembersDown"`, "0+60x40 0x200")},
		after:   11 * time.Minute, ends: 41 * time.Minute,
		labels:  map[string]string{"severity": "warning", "reason": "AllMembersDown"},
		summary: "A Service has not been serving for 11m 0s (AllMembersDown).",
	},
	"KubeOctaviaWritesNeedAPerson": {
		calm: []string{
			one("kube_octavia_ops_total", `kind="CreateLoadBalancer", class=""`, "0+1x240"),
			one("kube_octavia_ops_total", `kind="SetMembers", class="Busy"`, "0+1x240"),
			one("kube_octavia_ops_total", `kind="CreateLoadBalancer", class="Quota"`, "3x240"),
		},
		trouble: []string{one("kube_octavia_ops_total", `kind="CreateLoadBalancer", class="Quota"`, "1x20 2+1x10 12x200")},
		after:   21 * time.Minute, ends: 40 * time.Minute,
		labels:  map[string]string{"severity": "warning", "kind": "CreateLoadBalancer", "class": "Quota"},
		summary: "OpenStack rejects writes of kube-octavia (Quota).",
	},
	"KubeOctaviaCloudCallsFail": {
		calm: []string{
			one("kube_octavia_openstack_request_duration_seconds_count", `service="network", method="GET", route="/v2.0/ports", status="200"`, "0+5x240"),
			one("kube_octavia_openstack_request_duration_seconds_count", `service="network", method="GET", route="/v2.0/ports", status="404"`, "0+5x240"),
			// It fails occasionally, and recovers.
			one("kube_octavia_openstack_request_duration_seconds_count", `service="network", method="GET", route="/v2.0/ports", status="503"`, "0x20 1x120 2x100"),
		},
		trouble: []string{one("kube_octavia_openstack_request_duration_seconds_count", `service="network", method="GET", route="/v2.0/ports", status="none"`, "0x20 1+1x40 41x180")},
		after:   31 * time.Minute, ends: 65 * time.Minute,
		labels:  map[string]string{"severity": "warning", "service": "network"},
		summary: "Calls of kube-octavia to OpenStack service network fail.",
	},
	"KubeOctaviaCredentialsExpire": {
		calm:    []string{one("kube_octavia_openstack_credential_expiry_timestamp_seconds", `kind="application credential"`, "1801300000x240")},
		trouble: []string{one("kube_octavia_openstack_credential_expiry_timestamp_seconds", `kind="application credential"`, "1801210800x60 1809000000x180")},
		after:   21 * time.Minute, ends: 61 * time.Minute,
		labels:  map[string]string{"severity": "warning", "kind": "application credential", "namespace": "kube-octavia", "job": "kube-octavia-metrics", "instance": "10.0.0.7:8080"},
		summary: "The OpenStack credentials of kube-octavia expire soon.",
	},
	"KubeOctaviaConfigurationRejected": {
		calm:    []string{one("kube_octavia_openstack_configuration_rejected", "", "0x240")},
		trouble: []string{one("kube_octavia_openstack_configuration_rejected", "", "0x19 1x40 0x180")},
		after:   25 * time.Minute, ends: 61 * time.Minute,
		labels:  map[string]string{"severity": "warning", "namespace": "kube-octavia", "job": "kube-octavia-metrics", "instance": "10.0.0.7:8080"},
		summary: "kube-octavia cannot use the current cloud.conf.",
	},
	"KubeOctaviaLoadBalancerStuck": {
		calm:    []string{one("kube_octavia_longest_pending_seconds", "", "0+60x30 0x210")},
		trouble: []string{one("kube_octavia_longest_pending_seconds", "", "0+60x60 0x180")},
		after:   31 * time.Minute, ends: 61 * time.Minute,
		labels:  map[string]string{"severity": "warning", "namespace": "kube-octavia", "job": "kube-octavia-metrics", "instance": "10.0.0.7:8080"},
		summary: "A load balancer has been PENDING for 31m 0s.",
	},
	"KubeOctaviaConflictingWrites": {
		calm: []string{
			one("kube_octavia_conflicting_writes_total", `where="kubernetes"`, "4x240"),
			one("kube_octavia_conflicting_writes_total", `where="cloud"`, "0+1x240"),
		},
		trouble: []string{one("kube_octavia_conflicting_writes_total", `where="kubernetes"`, "0x19 1x220")},
		after:   20 * time.Minute, ends: 79 * time.Minute,
		labels:  map[string]string{"severity": "warning"},
		summary: "Another client changes Services of kube-octavia.",
	},
	"KubeOctaviaConflictingController": {
		calm:    []string{one("kube_octavia_conflicting_controller_services", "", "0x240")},
		trouble: []string{one("kube_octavia_conflicting_controller_services", "", "0x19 3x40 0x180")},
		after:   20 * time.Minute, ends: 61 * time.Minute,
		labels:  map[string]string{"severity": "critical", "namespace": "kube-octavia", "job": "kube-octavia-metrics", "instance": "10.0.0.7:8080"},
		summary: "Another controller changes 3 Services of kube-octavia.",
	},
	"KubeOctaviaOtherController": {
		calm: []string{
			// While kube-octavia observes, the other controller should run. There is no alert for a controller of
			// unknown kind.
			one("kube_octavia_other_controllers", `kind="openstack-cloud-controller-manager"`, "1x60 0x180"),
			one("kube_octavia_observe_only_services", `reason="ReadyForAdoption"`, "4x60 0x180"),
			one("kube_octavia_other_controllers", `kind="cloud-controller-manager"`, "1x240"),
		},
		trouble: []string{
			one("kube_octavia_other_controllers", `kind="openstack-cloud-controller-manager"`, "1x80 0x160"),
			one("kube_octavia_observe_only_services", `reason="ReadyForAdoption"`, "4x19 0x220"),
		},
		after: 35 * time.Minute, ends: 81 * time.Minute,
		labels:  map[string]string{"severity": "warning", "kind": "openstack-cloud-controller-manager"},
		summary: "Another controller (openstack-cloud-controller-manager) serves the Services of kube-octavia.",
	},
	"KubeOctaviaDriftContinues": {
		calm: []string{
			// It was repaired, and did not recur within the hour.
			one("kube_octavia_drift_detected_total", `kind="loadbalancer"`, "0x20 1x220"),
		},
		trouble: []string{one("kube_octavia_drift_detected_total", `kind="floatingip"`, "0x19 1+1x60 61x160")},
		after:   80 * time.Minute, ends: 139 * time.Minute,
		labels:  map[string]string{"severity": "warning", "kind": "floatingip"},
		summary: "Another client keeps changing cloud objects of kube-octavia (floatingip).",
	},
	"KubeOctaviaOrphansStay": {
		calm:    []string{one("kube_octavia_orphans", `kind="loadbalancer"`, "0x20 2x119 0x100")},
		trouble: []string{one("kube_octavia_orphans", `kind="loadbalancer"`, "0x19 2x160 0x60")},
		after:   140 * time.Minute, ends: 181 * time.Minute,
		labels:  map[string]string{"severity": "warning", "kind": "loadbalancer", "namespace": "kube-octavia", "job": "kube-octavia-metrics", "instance": "10.0.0.7:8080"},
		summary: "2 orphans of kind loadbalancer are not deleted.",
	},
	"KubeOctaviaNodesWithoutSecurityGroup": {
		calm:    []string{one("kube_octavia_security_group_nodes_unattached", "", "0x240")},
		trouble: []string{one("kube_octavia_security_group_nodes_unattached", "", "0x19 1x40 0x180")},
		after:   25 * time.Minute, ends: 61 * time.Minute,
		labels:  map[string]string{"severity": "warning", "namespace": "kube-octavia", "job": "kube-octavia-metrics", "instance": "10.0.0.7:8080"},
		summary: "1 nodes do not have the security group for load balancer traffic.",
	},
	"KubeOctaviaNodesWithoutAddress": {
		calm:    []string{one("kube_octavia_nodes_without_address", "", "0x240")},
		trouble: []string{one("kube_octavia_nodes_without_address", "", "0x19 2x40 0x180")},
		after:   25 * time.Minute, ends: 61 * time.Minute,
		labels:  map[string]string{"severity": "warning", "namespace": "kube-octavia", "job": "kube-octavia-metrics", "instance": "10.0.0.7:8080"},
		summary: "2 nodes have no address for load balancer traffic.",
	},
	"KubeOctaviaThrottled": {
		calm: []string{
			one("kube_octavia_openstack_throttled_total", `service="load-balancer", reason="rate"`, "0+1x240"),
			// A single burst.
			one("kube_octavia_openstack_throttled_total", `service="load-balancer", reason="429"`, "0x20 9x200"),
		},
		trouble: []string{one("kube_octavia_openstack_throttled_total", `service="load-balancer", reason="429"`, "0x19 1+1x40 41x180")},
		after:   30 * time.Minute, ends: 69 * time.Minute,
		labels:  map[string]string{"severity": "warning", "service": "load-balancer", "reason": "429"},
		summary: "OpenStack service load-balancer throttles kube-octavia.",
	},
	"KubeOctaviaNodeNotInitialized": {
		calm:    []string{one("kube_octavia_longest_node_uninitialized_seconds", "", "0+60x9 0x230")},
		trouble: []string{one("kube_octavia_longest_node_uninitialized_seconds", "", "0+60x60 0x180")},
		after:   16 * time.Minute, ends: 61 * time.Minute,
		labels:  map[string]string{"severity": "warning", "namespace": "kube-octavia", "job": "kube-octavia-metrics", "instance": "10.0.0.7:8080"},
		summary: "A Node has not been initialized for 16m 0s.",
	},
	"KubeOctaviaNodesWithoutRoute": {
		calm:    []string{one("kube_octavia_nodes_without_route", "", "0x20 1x3 0x217")},
		trouble: []string{one("kube_octavia_nodes_without_route", "", "0x19 2x40 0x180")},
		after:   25 * time.Minute, ends: 61 * time.Minute,
		labels:  map[string]string{"severity": "warning", "namespace": "kube-octavia", "job": "kube-octavia-metrics", "instance": "10.0.0.7:8080"},
		summary: "2 Nodes have no route to their Pods.",
	},
}

// fired is an alert that fires.
type fired struct {
	Labels      map[string]string
	Annotations map[string]string
}

// firing returns the state of a rule in Prometheus at each evaluation: whether an alert is pending or fires, and
// the first one that fires.
func firing(t *testing.T, rule rulefmt.Rule, p *memory, until time.Duration) (pending map[time.Duration]bool, firing map[time.Duration]fired) {
	t.Helper()
	pending, firing = map[time.Duration]bool{}, map[time.Duration]fired{}
	since := map[string]time.Duration{}
	for at := time.Duration(0); at <= until; at += interval {
		now := map[string]time.Duration{}
		for _, sample := range p.query(t, rule.Expr, began.Add(at)) {
			key := sample.Metric.String()
			first, active := since[key]
			if !active {
				first = at
			}
			now[key] = first
			if pending[at] = true; at-first >= time.Duration(rule.For) {
				firing[at] = alertOf(t, rule, sample)
			}
		}
		since = now
	}
	return pending, firing
}

// alertOf returns the alert of a rule for a sample, with its templates expanded as Prometheus does.
func alertOf(t *testing.T, rule rulefmt.Rule, sample promql.Sample) fired {
	t.Helper()
	alert := fired{Labels: map[string]string{}, Annotations: map[string]string{}}
	sample.Metric.Range(func(l labels.Label) {
		if l.Name != model.MetricNameLabel {
			alert.Labels[l.Name] = l.Value
		}
	})
	data := template.AlertTemplateData(maps.Clone(alert.Labels), nil, "", sample)
	expand := func(text string) string {
		text = "{{$labels := .Labels}}{{$value := .Value}}" + text
		expanded, err := template.NewTemplateExpander(t.Context(), text, rule.Alert, data, model.Time(began.UnixMilli()), nil, nil, nil).Expand()
		if err != nil {
			t.Fatal(err)
		}
		return expanded
	}
	for name, text := range rule.Labels {
		alert.Labels[name] = expand(text)
	}
	for name, text := range rule.Annotations {
		alert.Annotations[name] = expand(text)
	}
	return alert
}

func TestEachAlertFiresForItsProblemOnly(t *testing.T) {
	var names []string
	for _, rule := range alerts(t) {
		names = append(names, rule.Alert)
		test := alertTests[rule.Alert]
		t.Run(rule.Alert, func(t *testing.T) {
			t.Run("not in the normal state", func(t *testing.T) {
				p := newMemory(t)
				p.load(t, began, interval, test.calm...)
				pending, firing := firing(t, rule, p, 4*time.Hour)
				switch {
				case len(firing) > 0:
					t.Errorf("it fires after %v", slices.Min(slices.Collect(maps.Keys(firing))))
				case len(pending) > 0 && rule.For == 0:
					t.Errorf("it is pending after %v", slices.Min(slices.Collect(maps.Keys(pending))))
				}
			})
			t.Run("in trouble", func(t *testing.T) {
				p := newMemory(t)
				p.load(t, began, interval, test.trouble...)
				_, firing := firing(t, rule, p, test.ends+time.Hour)
				if len(firing) == 0 {
					t.Fatal("it does not fire")
				}
				times := slices.Sorted(maps.Keys(firing))
				if first, last := times[0], times[len(times)-1]; first != test.after || last+interval != test.ends {
					t.Errorf("it fires from %v to %v, want %v to %v", first, last+interval, test.after, test.ends)
				}
				got := firing[times[0]]
				if diff := cmp.Diff(test.labels, got.Labels); diff != "" {
					t.Errorf("labels (-want +got):\n%s", diff)
				}
				if got.Annotations["summary"] != test.summary {
					t.Errorf("the summary is %q, want %q", got.Annotations["summary"], test.summary)
				}
				if got.Annotations["runbook_url"] != runbooks+rule.Alert+".md" || !strings.HasSuffix(got.Annotations["description"], ".") {
					t.Errorf("the annotations are %v", got.Annotations)
				}
			})
		})
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(alertTests)), slices.Sorted(slices.Values(names))); diff != "" {
		t.Errorf("alerts (-tested +there):\n%s", diff)
	}
}
