// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/grafana/grafana-foundation-sdk/go/units"

// rows are the panels of the dashboard. The first rows answer what an operator wants to know first: whether
// something is wrong, and what.
var rows = []row{
	{"Is something wrong?", []panel{
		{
			title: "Active replicas", unit: units.Short, number: true, red: 1, redBelow: true, noValue: "no election",
			description: "Replicas that have the Lease. 1 is normal for each release. With 0, nothing is done for Services.",
			queries:     []query{{`sum(leader_election_master_status{SEL})`, ""}},
		},
		{
			title: "Services not programmed", unit: units.Short, number: true, red: 1,
			description: "Services whose condition Programmed is not True. Some are normal while Services change. Reasons are below.",
			queries:     []query{{`sum(kube_octavia_services{SEL, reason!="Programmed"})`, ""}},
		},
		{
			title: "Longest not programmed", unit: units.Seconds, number: true, red: 600,
			description: "How long the Service that waits longest has been not programmed. Services that are not accepted count too; their authors have to correct them.",
			queries:     []query{{`max(kube_octavia_longest_not_programmed_seconds{SEL})`, ""}},
		},
		{
			title: "Longest PENDING", unit: units.Seconds, number: true, red: 1800,
			description: "How long the load balancer that waits longest for Octavia has been PENDING. After 30 min only the cloud operator can help.",
			queries:     []query{{`max(kube_octavia_longest_pending_seconds{SEL})`, ""}},
		},
		{
			title: "Failed writes, last hour", unit: units.Short, number: true, red: 1,
			description: "Writes to the cloud that failed in the last hour, for any reason. Classes are below.",
			noValue:     "0",
			queries:     []query{{`sum(increase(kube_octavia_ops_total{SEL}[1h])) - (sum(increase(kube_octavia_ops_total{SEL, class=""}[1h])) or vector(0))`, ""}},
		},
		{
			title: "Credentials expire in", unit: units.Seconds, number: true, red: 14 * 86400, redBelow: true, noValue: "no expiry",
			description: "Time until the OpenStack credentials in use expire. Without a value they do not expire, or the expiry is unknown.",
			queries:     []query{{`min by (kind) (kube_octavia_openstack_credential_expiry_timestamp_seconds{SEL}) - time()`, "{{kind}}"}},
		},
		{
			title: "cloud.conf rejected", unit: units.Short, number: true, red: 1,
			description: "Replicas that cannot use the current cloud.conf and use older credentials. The log says why.",
			queries:     []query{{`sum(kube_octavia_openstack_configuration_rejected{SEL})`, ""}},
		},
		{
			title: "Services of two controllers", unit: units.Short, number: true, red: 1,
			description: "Services that kube-octavia has stopped changing, because another controller changes them too.",
			queries:     []query{{`sum(kube_octavia_conflicting_controller_services{SEL})`, ""}},
		},
		{
			title: "Orphans", unit: units.Short, number: true, red: 1,
			description: "Cloud objects of this cluster that no Service uses. They are deleted after the grace period.",
			noValue:     "no sweep yet",
			queries:     []query{{`sum(kube_octavia_orphans{SEL})`, ""}},
		},
		{
			title: "Nodes without address", unit: units.Short, number: true, red: 1,
			description: "Nodes that should be members, but have no address of the IP family of a Service. They get no traffic.",
			queries:     []query{{`sum(kube_octavia_nodes_without_address{SEL})`, ""}},
		},
		{
			title: "Nodes without security group", unit: units.Short, number: true, red: 1,
			description: "Nodes to which the security group for load balancer traffic cannot be attached. Load balancers may not reach them.",
			queries:     []query{{`sum(kube_octavia_security_group_nodes_unattached{SEL})`, ""}},
		},
		{
			title: "Replicas", unit: units.Short, number: true, red: 1, redBelow: true, noValue: "0",
			description: "Replicas that have reached OpenStack. One is active, the others are on standby.",
			queries:     []query{{`count(kube_octavia_longest_pending_seconds{SEL})`, ""}},
		},
	}},
	{"Services", []panel{
		{
			title: "Services by state", unit: units.Short, stacked: true,
			description: "Services by reason of condition Programmed. The reasons are explained in docs/reference/conditions.md.",
			queries:     []query{{`sum by (reason) (kube_octavia_services{SEL})`, "{{reason}}"}},
		},
		{
			title: "Longest not programmed, by reason", unit: units.Seconds,
			description: "How long the Service that waits longest with this reason has been not programmed.",
			queries:     []query{{`max by (reason) (kube_octavia_longest_not_programmed_seconds{SEL})`, "{{reason}}"}},
		},
		{
			title: "Services by health", unit: units.Short, stacked: true,
			description: "Services by reason of condition Serving. NotMonitored: no health monitor checks the members.",
			queries:     []query{{`sum by (reason) (kube_octavia_services_serving{SEL})`, "{{reason}}"}},
		},
		{
			title: "Longest not serving, by reason", unit: units.Seconds,
			description: "How long nothing has answered the clients of a Service, the longest of them with this reason.",
			queries:     []query{{`max by (reason) (kube_octavia_longest_not_serving_seconds{SEL})`, "{{reason}}"}},
		},
		{
			title: "Age of the health of members", unit: units.Seconds,
			description: "When the health of members was last read. It is read once a minute.",
			queries:     []query{{`time() - max(kube_octavia_member_health_timestamp_seconds{SEL} > 0)`, "age"}},
		},
		{
			title: "PENDING load balancers", unit: units.Short,
			description: "Load balancers on which Octavia works, and deleted ones whose VIP port still exists. A number that only grows means that Octavia does not keep up.",
			queries:     []query{{`sum(kube_octavia_pending_load_balancers{SEL})`, "PENDING"}},
		},
		{
			title: "Only observed, by reason", unit: units.Short, stacked: true, noValue: "None: --adopt=tag, or all Services are taken over",
			description: "Services that are only observed because of --adopt=observe. ChangesOnAdoption: --adopt=tag would change their load balancers.",
			queries:     []query{{`sum by (reason) (kube_octavia_observe_only_services{SEL})`, "{{reason}}"}},
		},
		{
			title: "Longest PENDING", unit: units.Seconds,
			description: "How long the load balancer that waits longest for Octavia has been PENDING.",
			queries:     []query{{`max(kube_octavia_longest_pending_seconds{SEL})`, "longest"}},
		},
		{
			title: "Unfinished children", unit: units.Short,
			description: "ACTIVE load balancers with a listener, pool, member or monitor that Octavia did not finish. kube-octavia repaired them.",
			queries:     []query{{`sum(increase(kube_octavia_incomplete_load_balancers_total{SEL}[$__rate_interval]))`, "repaired"}},
		},
	}},
	{"Writes to the cloud", []panel{
		{
			title: "Writes, by kind", unit: units.OpsPerSecond, stacked: true, noValue: "No writes yet",
			description: "Operations on the cloud, as in kube-octavia plan.",
			queries:     []query{{`sum by (kind) (rate(kube_octavia_ops_total{SEL}[$__rate_interval]))`, "{{kind}}"}},
		},
		{
			title: "Writes, by error class", unit: units.OpsPerSecond, stacked: true, noValue: "No writes yet",
			description: "Quota, Invalid and Unauthorized need an operator. Busy, Conflict, Throttled and Transient are retried.",
			queries:     []query{{`label_replace(sum by (class) (rate(kube_octavia_ops_total{SEL}[$__rate_interval])), "class", "success", "class", "")`, "{{class}}"}},
		},
		{
			title: "Time of writes", unit: units.Seconds, noValue: "No writes yet",
			description: "Time until the cloud accepted a write. The work of Octavia in the background is not included.",
			queries: []query{
				{`histogram_quantile(0.5, sum by (le) (rate(kube_octavia_op_duration_seconds_bucket{SEL}[$__rate_interval])))`, "p50"},
				{`histogram_quantile(0.99, sum by (le) (rate(kube_octavia_op_duration_seconds_bucket{SEL}[$__rate_interval])))`, "p99"},
			},
		},
	}},
	{"Calls to OpenStack", []panel{
		{
			title: "Calls, by service", unit: units.RequestsPerSecond, stacked: true,
			description: "All calls to OpenStack. Compare with --cloud-rate.",
			queries:     []query{{`sum by (service) (rate(kube_octavia_openstack_request_duration_seconds_count{SEL}[$__rate_interval]))`, "{{service}}"}},
		},
		{
			title: "Failed calls, by service and status", unit: units.RequestsPerSecond, stacked: true, noValue: "No failed calls",
			description: "Calls with a status of 400 or more, or without a response (none). 404 and 409 can be normal.",
			queries:     []query{{`sum by (service, status) (rate(kube_octavia_openstack_request_duration_seconds_count{SEL, status!~"[123].."}[$__rate_interval]))`, "{{service}} {{status}}"}},
		},
		{
			title: "Share of calls that fail", unit: units.PercentUnit,
			description: "Calls with a 5xx status or without a response, of all calls to the service.",
			queries: []query{{`1 - sum by (service) (rate(kube_octavia_openstack_request_duration_seconds_count{SEL, status!~"5..|none"}[$__rate_interval])) ` +
				`/ sum by (service) (rate(kube_octavia_openstack_request_duration_seconds_count{SEL}[$__rate_interval]))`, "{{service}}"}},
		},
		{
			title: "Time of calls, p50 by route", unit: units.Seconds, width: 12,
			description: "Half of the calls are faster.",
			queries: []query{{`histogram_quantile(0.5, sum by (le, service, method, route) (rate(kube_octavia_openstack_request_duration_seconds_bucket{SEL}[$__rate_interval])))`,
				"{{service}} {{method}} {{route}}"}},
		},
		{
			title: "Time of calls, p99 by route", unit: units.Seconds, width: 12,
			description: "99 of 100 calls are faster. A slow route makes all changes of this kind slow.",
			queries: []query{{`histogram_quantile(0.99, sum by (le, service, method, route) (rate(kube_octavia_openstack_request_duration_seconds_bucket{SEL}[$__rate_interval])))`,
				"{{service}} {{method}} {{route}}"}},
		},
		{
			title: "Throttled calls", unit: units.RequestsPerSecond, stacked: true, noValue: "No throttled calls",
			description: "429, 503, 413: OpenStack throttled the call. pause, rate: the call was not sent, because it would have waited too long.",
			queries:     []query{{`sum by (service, reason) (rate(kube_octavia_openstack_throttled_total{SEL}[$__rate_interval]))`, "{{service}} {{reason}}"}},
		},
		{
			title: "Tokens renewed", unit: units.Short, noValue: "No token was renewed yet",
			description: "Tokens that were renewed, or could not be (failed).",
			queries:     []query{{`sum by (result) (increase(kube_octavia_openstack_reauthentications_total{SEL}[$__rate_interval]))`, "{{result}}"}},
		},
		{
			title: "Credentials replaced", unit: units.Short, noValue: "cloud.conf has not changed",
			description: "Changes of the credentials in cloud.conf. rejected: the old ones stay in use.",
			queries:     []query{{`sum by (result) (increase(kube_octavia_openstack_credential_reloads_total{SEL}[$__rate_interval]))`, "{{result}}"}},
		},
	}},
	{"Changes by other clients", []panel{
		{
			title: "Drift detected", unit: units.Short, stacked: true,
			description: "Cloud objects that a sweep found changed, failed or deleted.",
			queries:     []query{{`sum by (kind) (increase(kube_octavia_drift_detected_total{SEL}[$__rate_interval]))`, "{{kind}}"}},
		},
		{
			title: "Drift repaired", unit: units.Short, stacked: true,
			description: "Writes that undid changes made outside kube-octavia.",
			queries:     []query{{`sum by (kind) (increase(kube_octavia_drift_repaired_total{SEL}[$__rate_interval]))`, "{{kind}}"}},
		},
		{
			title: "Drift only reported", unit: units.Short, stacked: true,
			description: "Writes that drift-policy report forbids.",
			queries:     []query{{`sum by (kind) (increase(kube_octavia_drift_reported_total{SEL}[$__rate_interval]))`, "{{kind}}"}},
		},
		{
			title: "Conflicting writes", unit: units.Short, stacked: true,
			description: "Writes of other clients to what kube-octavia manages: on Services (kubernetes) or in the cloud.",
			queries:     []query{{`sum by (where) (increase(kube_octavia_conflicting_writes_total{SEL}[$__rate_interval]))`, "{{where}}"}},
		},
		{
			title: "Orphans, by kind", unit: units.Short, stacked: true, noValue: "No sweep yet",
			description: "Cloud objects of this cluster that no Service uses.",
			queries:     []query{{`sum by (kind) (kube_octavia_orphans{SEL})`, "{{kind}}"}},
		},
		{
			title: "Nodes that load balancers may not reach", unit: units.Short,
			description: "Nodes that should be members, but lack an address or the security group for load balancer traffic.",
			queries: []query{
				{`sum(kube_octavia_nodes_without_address{SEL})`, "no address"},
				{`sum(kube_octavia_security_group_nodes_unattached{SEL})`, "no security group"},
			},
		},
	}},
	{"Nodes", []panel{
		{
			title: "Nodes not initialized", unit: units.Short, noValue: "Controller node does not run",
			description: "Nodes with the taint node.cloudprovider.kubernetes.io/uninitialized. Events NodeNotInitialized say why.",
			queries:     []query{{`sum(kube_octavia_nodes_uninitialized{SEL})`, "not initialized"}},
		},
		{
			title: "Longest not initialized", unit: units.Seconds, noValue: "Controller node does not run",
			description: "How long ago the oldest Node was created that is not initialized.",
			queries:     []query{{`max(kube_octavia_longest_node_uninitialized_seconds{SEL})`, "longest"}},
		},
		{
			title: "Nodes without route", unit: units.Short, noValue: "Controller route does not run",
			description: "Nodes to whose Pods the router has no route. Events FailedToCreateRoute say why.",
			queries:     []query{{`sum(kube_octavia_nodes_without_route{SEL})`, "no route"}},
		},
	}},
	{"Controller", []panel{
		{
			title: "Queue", unit: units.Short, stacked: true,
			description: "Services, nodes and Pods that wait for a pass. A queue that stays long means that passes are slow, usually because calls to OpenStack are.",
			queries:     []query{{`sum by (name) (workqueue_depth{SEL})`, "{{name}}"}},
		},
		{
			title: "Time in the queue", unit: units.Seconds,
			description: "How long something waits for its pass.",
			queries: []query{
				{`histogram_quantile(0.5, sum by (le) (rate(workqueue_queue_duration_seconds_bucket{SEL}[$__rate_interval])))`, "p50"},
				{`histogram_quantile(0.99, sum by (le) (rate(workqueue_queue_duration_seconds_bucket{SEL}[$__rate_interval])))`, "p99"},
				{`max(workqueue_longest_running_processor_seconds{SEL})`, "longest pass now"},
			},
		},
		{
			title: "Time of passes", unit: units.Seconds,
			description: "A pass lasts as long as its calls to OpenStack and Kubernetes, never as long as Octavia works.",
			queries: []query{
				{`histogram_quantile(0.5, sum by (le) (rate(controller_runtime_reconcile_time_seconds_bucket{SEL}[$__rate_interval])))`, "p50"},
				{`histogram_quantile(0.99, sum by (le) (rate(controller_runtime_reconcile_time_seconds_bucket{SEL}[$__rate_interval])))`, "p99"},
			},
		},
		{
			title: "Passes, by controller", unit: units.OpsPerSecond, stacked: true,
			description: "Passes over Services. Over nodes with manage-security-groups, and over Pods with --pod-readiness-gates.",
			queries:     []query{{`sum by (controller, result) (rate(controller_runtime_reconcile_total{SEL}[$__rate_interval]))`, "{{controller}} {{result}}"}},
		},
		{
			title: "Passes that failed", unit: units.OpsPerSecond, stacked: true,
			description: "Passes that ended with an error. The log says why. They are repeated.",
			queries:     []query{{`sum by (controller) (rate(controller_runtime_reconcile_errors_total{SEL}[$__rate_interval]))`, "{{controller}}"}},
		},
		{
			title: "Calls to Kubernetes, by status", unit: units.RequestsPerSecond, stacked: true,
			description: "Calls to the API server. 403 means that a right is missing.",
			queries:     []query{{`sum by (code) (rate(rest_client_requests_total{SEL}[$__rate_interval]))`, "{{code}}"}},
		},
		{
			title: "Active replica", unit: units.Short, noValue: "No election: --leader-elect=false",
			description: "1 for the replica that has the Lease.",
			queries:     []query{{`max by (namespace, instance) (leader_election_master_status{SEL})`, "{{namespace}} {{instance}}"}},
		},
		{
			title: "CPU", unit: units.Short,
			description: "Processor cores that each replica uses.",
			queries:     []query{{`sum by (namespace, instance) (rate(process_cpu_seconds_total{SEL}[$__rate_interval]))`, "{{namespace}} {{instance}}"}},
		},
		{
			title: "Memory", unit: units.BytesIEC,
			description: "Resident memory of each replica. Compare with the limit of the container.",
			queries:     []query{{`max by (namespace, instance) (process_resident_memory_bytes{SEL})`, "{{namespace}} {{instance}}"}},
		},
	}},
}
