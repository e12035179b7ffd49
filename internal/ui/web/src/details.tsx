// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { GraphView } from "./graph";
import { Icon } from "./icon";
import type { Node } from "./layout";
import { labelOf, type Entry, type Service } from "./model";
import { Time } from "./time";
import { Timeline } from "./timeline";

interface Props {
  service: Service;
  /** The Services with the same load balancer. */
  group: Service[];
  /** The changes of the Service since the time. */
  entries: Entry[];
  since: string;
  open: (key: string) => void;
  close: () => void;
}

/** Everything about one Service. */
export function Details({ service: s, group, entries, since, open, close }: Props) {
  const [chosen, setChosen] = useState<string | null>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => {
    setChosen(null);
    heading.current?.focus({ preventScroll: true });
  }, [s.key]);
  const choose = (node: Node) => {
    if (node.kind === "service" && node.of.key !== s.key) open(node.of.key);
    else setChosen(node.key);
  };
  return (
    <article class="details" aria-labelledby="details-heading">
      <header>
        <button type="button" class="back" onClick={close} aria-label="Back to all Services" title="Back to all Services (Escape)">
          ←
        </button>
        <h2 id="details-heading" tabIndex={-1} ref={heading}>
          {s.name} <span class="place">{s.namespace}</span>
        </h2>
        <span class={"badge " + s.state}>
          <Icon state={s.state} />
          {labelOf(s.state)}
        </span>
        {s.plan.drift && <span class="badge warning">Drift</span>}
      </header>
      {s.reasons.length > 0 && (
        <ul class={"reasons " + s.state}>
          {s.reasons.map((r) => (
            <li key={r}>{r}</li>
          ))}
        </ul>
      )}
      {s.unmonitored.length > 0 && (
        <p class="note">No health monitor checks the members of {s.unmonitored.join(", ")}, so it is not known whether they serve.</p>
      )}
      <div class="canvas" tabIndex={-1}>
        <GraphView services={group} members selected={chosen ?? undefined} choose={choose} label={`Topology of Service ${s.name}`} />
      </div>
      <div class="cards">
        <Facts service={s} group={group} chosen={chosen} />
        <PlanCard service={s} />
        <Card title="Timeline">
          {entries.length === 0 && (
            <p class="none">
              No change was seen <Time at={since} prefix="since " />.
            </p>
          )}
          <Timeline entries={entries} />
        </Card>
        <Card title="Conditions">
          {s.conditions.length === 0 && <p class="none">None.</p>}
          <dl>
            {s.conditions.map((c) => (
              <div key={c.type}>
                <dt>
                  {c.type.replace(/^.*\//, "")}: <b>{c.status}</b> <span class="place">{c.reason}</span>
                </dt>
                <dd>
                  {c.message} <Time at={c.since} prefix="since " />
                </dd>
              </div>
            ))}
          </dl>
        </Card>
        <Card title="Events">
          {s.events.length === 0 && <p class="none">None in the last hour or so: Kubernetes keeps them for a limited time.</p>}
          <ol class="events">
            {s.events.map((e) => (
              <li key={e.reason + e.last + e.message} class={e.type === "Warning" ? "warning" : ""}>
                <b>{e.reason}</b> {e.count > 1 && <span class="place">{e.count} times</span>} <Time at={e.last} />
                <br />
                {e.message}
              </li>
            ))}
          </ol>
        </Card>
      </div>
    </article>
  );
}

function Card({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section class="card" aria-label={title}>
      <h3>{title}</h3>
      {children}
    </section>
  );
}

function PlanCard({ service: { plan } }: { service: Service }) {
  return (
    <Card title={plan.drift ? "Plan: drift" : "Plan"}>
      {!plan.known && <p class="none">There is no plan: {plan.why}</p>}
      {plan.known && plan.operations.length === 0 && plan.refused.length === 0 && <p class="none">Nothing to do: the cloud has what the Service requests.</p>}
      {plan.drift && <p>The Service has not changed, but its load balancer has. These operations restore it:</p>}
      <ol class="plan">
        {plan.operations.map((op, i) => (
          <li key={i + op.text}>{op.text}</li>
        ))}
      </ol>
      {plan.refused.map((r) => (
        <p key={r.message} class="refused">
          <b>{r.reason}</b>: {r.message}
        </p>
      ))}
    </Card>
  );
}

type Row = [label: string, value: ComponentChildren];

/** The object that was selected in the graph; by default the load balancer, or else the Service. */
function Facts({ service: s, group, chosen }: { service: Service; group: Service[]; chosen: string | null }) {
  const l = s.loadBalancer;
  const [kind, rows] = factsOf(s, group, chosen) ?? (l ? loadBalancerFacts(s) : serviceFacts(s, group));
  return (
    <Card title={kind}>
      <dl class="facts">
        {rows
          .filter(([, value]) => value !== "" && value !== undefined)
          .map(([label, value]) => (
            <div key={label}>
              <dt>{label}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
    </Card>
  );
}

const statusRows = (o: { provisioning: string; operating: string }): Row[] => [
  ["Provisioning status", o.provisioning],
  ["Operating status", o.operating || "not read yet"],
];

function serviceFacts(s: Service, group: Service[]): [string, Row[]] {
  return [
    "Service",
    [
      ["Name", s.key],
      ["Type", s.type],
      ["Addresses", s.addresses.join(", ") || "none"],
      ["Ports", s.ports.join(", ")],
      ["Shares its load balancer with", group.filter((o) => o.key !== s.key).map((o) => o.key).join(", ")],
    ],
  ];
}

function loadBalancerFacts(s: Service): [string, Row[]] {
  const l = s.loadBalancer!;
  return [
    "Load balancer",
    [
      ["Name", l.name],
      ["ID", <code>{l.id}</code>],
      ...statusRows(l),
      ["Provider", l.provider],
      ["Floating IP", l.floatingIP],
      ["VIP", l.vips.join(", ")],
      ["Changed", l.updatedAt],
      ["Statuses read", l.membersRead ? <Time at={l.statusAt} /> : "not yet"],
    ],
  ];
}

function factsOf(s: Service, group: Service[], chosen: string | null): [string, Row[]] | null {
  const l = s.loadBalancer;
  if (chosen === "service " + s.key) return serviceFacts(s, group);
  if (!chosen || !l) return null;
  const listener = l.listeners.find((x) => chosen === "listener " + x.id);
  if (listener) {
    return [
      "Listener",
      [
        ["Name", listener.name],
        ["ID", <code>{listener.id}</code>],
        ["Protocol and port", `${listener.protocol} ${listener.port}`],
        ...statusRows(listener),
        ["Sources that may connect", listener.allowedCIDRs.join(", ") || "all"],
        ["TLS", listener.tls ? "terminated here" : ""],
      ],
    ];
  }
  for (const p of l.pools) {
    const m = p.members.find((x) => chosen === `member ${p.id} ${x.id}`);
    if (m) {
      return [
        "Member",
        [
          ["Name", m.name],
          ["ID", <code>{m.id}</code>],
          ["Address and port", `${m.address}:${m.port}`],
          ...statusRows(m),
          ["Weight", String(m.weight)],
        ],
      ];
    }
    if (chosen === "pool " + p.id || chosen === "members " + p.id) {
      return [
        "Pool",
        [
          ["Name", p.name],
          ["ID", <code>{p.id}</code>],
          ["Protocol", p.protocol],
          ["Algorithm", p.algorithm],
          ...statusRows(p),
          ["Health monitor", p.monitor ? `${p.monitor.type}, every ${p.monitor.delaySeconds} s, ${p.monitor.provisioning}` : "none: the members are not monitored"],
          ["Members", String(p.members.length)],
        ],
      ];
    }
  }
  return null;
}
