// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// The types of internal/operate/topology, as JSON.

import type { Filter } from "./view";

/** "unmonitored" is only for members that no health monitor checks. */
export type State = "ok" | "unmonitored" | "unknown" | "pending" | "warning" | "failed";

/** The states of Services, from bad to good, and their labels. */
export const states: { state: State; label: string }[] = [
  { state: "failed", label: "Failed" },
  { state: "warning", label: "Warning" },
  { state: "pending", label: "Pending" },
  { state: "unknown", label: "Unknown" },
  { state: "ok", label: "OK" },
];

export const labelOf = (state: State) => states.find((s) => s.state === state)?.label ?? "Not monitored";

export interface Statuses {
  provisioning: string;
  operating: string;
  state: State;
}

export interface Member extends Statuses {
  id: string;
  name: string;
  address: string;
  port: number;
  weight: number;
}

export interface Monitor extends Statuses {
  id: string;
  type: string;
  delaySeconds: number;
}

export interface Pool extends Statuses {
  id: string;
  name: string;
  protocol: string;
  algorithm: string;
  monitor: Monitor | null;
  members: Member[];
}

export interface Listener extends Statuses {
  id: string;
  name: string;
  protocol: string;
  port: number;
  allowedCIDRs: string[];
  tls: boolean;
  poolID: string;
}

export interface LoadBalancer extends Statuses {
  id: string;
  name: string;
  provider?: string;
  vips: string[];
  floatingIP?: string;
  updatedAt?: string;
  shared: boolean;
  membersRead: boolean;
  statusAt: string;
  listeners: Listener[];
  pools: Pool[];
}

export interface Service {
  key: string;
  namespace: string;
  name: string;
  type: string;
  addresses: string[];
  ports: string[];
  state: State;
  reasons: string[];
  /** Ports with members that no health monitor checks. */
  unmonitored: string[];
  conditions: { type: string; status: string; reason: string; message: string; since: string }[];
  events: { type: string; reason: string; message: string; count: number; last: string }[];
  plan: {
    known: boolean;
    why?: string;
    drift: boolean;
    operations: { kind: string; text: string }[];
    refused: { reason: string; message: string }[];
  };
  loadBalancer: LoadBalancer | null;
}

export interface CloudObject {
  kind: string;
  id: string;
  name?: string;
  inUse?: string;
}

export interface Conflict {
  namespace: string;
  name: string;
  kind: string;
  id: string;
  message: string;
}

export interface Problem {
  of: string;
  message: string;
  action: string;
  since: string;
}

/** An entry of the timeline. */
export interface Entry {
  number: number;
  after: string;
  at: string;
  /** The key of a Service, or "". */
  service: string;
  state: State;
  text: string;
}

/** The data of the page besides Services. */
export interface Rest {
  cluster: string;
  readAt: string;
  servicesAt: string;
  unread: number;
  orphans: CloudObject[];
  conflicts: Conflict[];
  leftPorts: CloudObject[];
  problems: Problem[];
  note?: string;
}

/** A message of the server with the changes. */
export interface Change {
  whole: boolean;
  topology: Rest;
  services: Service[];
  removed: string[];
  changes: Entry[];
  changesSince: string;
  mostChanges: number;
}

export interface Topology extends Rest {
  /** Sorted: the worst first, then by namespace and name. */
  services: Service[];
  /** The oldest first. */
  timeline: Entry[];
  timelineSince: string;
}

/** Applies a change. Services that did not change stay the same objects. */
export function apply(before: Topology | null, change: Change): Topology {
  const all = new Map<string, Service>();
  if (!change.whole) before?.services.forEach((s) => all.set(s.key, s));
  change.removed.forEach((key) => all.delete(key));
  change.services.forEach((s) => all.set(s.key, s));
  const order = (a: Service, b: Service) => rank(a) - rank(b) || compare(a.namespace, b.namespace) || compare(a.name, b.name);
  const timeline = change.whole ? change.changes : [...(before?.timeline ?? []), ...change.changes];
  return {
    ...change.topology,
    services: [...all.values()].sort(order),
    timeline: timeline.slice(-change.mostChanges),
    timelineSince: change.changesSince,
  };
}

const rank = (s: Service) => states.findIndex((x) => x.state === s.state);

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

/** Reports whether a Service matches a filter. */
export function matches(s: Service, filter: Filter): boolean {
  if (filter === "drift") return s.plan.drift;
  if (filter === "unmonitored") return s.unmonitored.length > 0;
  return !filter || s.state === filter;
}

/** The Services that match all words of the query, and the filter. */
export function select(services: Service[], query: string, filter: Filter): Service[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return services.filter((s) => {
    if (!matches(s, filter)) return false;
    const text = searchable(s);
    return words.every((word) => text.includes(word));
  });
}

const texts = new WeakMap<Service, string>();

function searchable(s: Service): string {
  let text = texts.get(s);
  if (text === undefined) {
    const l = s.loadBalancer;
    const members = l?.pools.flatMap((p) => p.members.flatMap((m) => [m.name, m.address])) ?? [];
    const unmonitored = s.unmonitored.length > 0 ? "not monitored" : "";
    text = [s.key, s.state, s.plan.drift ? "drift" : "", unmonitored, ...s.reasons, ...s.conditions.map((c) => c.reason), ...s.addresses, ...s.ports, l?.id, l?.name, l?.provider, ...(l?.vips ?? []), ...members]
      .filter(Boolean)
      .join(" ")
      .toLowerCase();
    texts.set(s, text);
  }
  return text;
}

/** Services with the same load balancer, in the order of the first of each. */
export function groups(services: Service[]): Service[][] {
  const all: Service[][] = [];
  const of = new Map<string, Service[]>();
  for (const s of services) {
    const id = s.loadBalancer?.id;
    const known = id ? of.get(id) : undefined;
    if (known) {
      known.push(s);
      continue;
    }
    const group = [s];
    all.push(group);
    if (id) of.set(id, group);
  }
  return all;
}
