// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Places the objects of Services that share a load balancer.

import { Graph, layout } from "@dagrejs/dagre";
import type { Listener, LoadBalancer, Member, Pool, Service, State } from "./model";

export type Node = {
  key: string;
  state: State;
  title: string;
  detail: string;
  /** The text for screen readers. */
  spoken: string;
} & (
  | { kind: "service"; of: Service }
  | { kind: "load balancer"; of: LoadBalancer }
  | { kind: "listener"; of: Listener }
  | { kind: "pool"; of: Pool }
  | { kind: "member"; of: Member }
  | { kind: "members"; of: Member[] }
);

export interface Edge {
  from: string;
  to: string;
}

export interface Placed {
  nodes: (Node & { x: number; y: number; width: number; height: number })[];
  edges: (Edge & { path: string })[];
  width: number;
  height: number;
  /** Whether the nodes are below each other, for a narrow screen. */
  stacked: boolean;
}

const width: Record<Node["kind"], number> = { service: 164, "load balancer": 168, listener: 124, pool: 140, member: 204, members: 204 };
const height = 44;
/** A pool with more members shows those that are not OK, and the number of the others. */
const mostMembers = 12;

/** The nodes and edges of Services with one load balancer, or none. Members are nodes, or only counted. */
export function graphOf(services: Service[], withMembers: boolean): { nodes: Node[]; edges: Edge[] } {
  const nodes: Node[] = [];
  const edges: Edge[] = [];
  const link = (from: string, to: string) => edges.push({ from, to });
  const l = services[0].loadBalancer;
  for (const s of services) {
    nodes.push({
      kind: "service", of: s, key: "service " + s.key, state: s.state, title: s.name, detail: s.namespace,
      spoken: `Service ${s.name} in namespace ${s.namespace}: ${s.state}`,
    });
    if (l) link("service " + s.key, "load balancer " + l.id);
  }
  if (!l) return { nodes, edges };
  nodes.push({
    kind: "load balancer", of: l, key: "load balancer " + l.id, state: l.state, title: l.floatingIP || l.vips[0] || l.name,
    detail: both(l), spoken: `Load balancer ${l.name}, ${both(l)}`,
  });
  const listeners = [...l.listeners].sort((a, b) => a.port - b.port);
  for (const x of listeners) {
    nodes.push({
      kind: "listener", of: x, key: "listener " + x.id, state: x.state, title: `${x.protocol} ${x.port}`, detail: both(x),
      spoken: `Listener ${x.protocol} ${x.port}, ${both(x)}`,
    });
    link("load balancer " + l.id, "listener " + x.id);
    if (x.poolID) link("listener " + x.id, "pool " + x.poolID);
  }
  for (const p of l.pools) {
    nodes.push({
      kind: "pool", of: p, key: "pool " + p.id, state: p.state, title: p.protocol + " pool", detail: both(p), spoken: `Pool ${p.name}, ${both(p)}`,
    });
    if (!l.listeners.some((x) => x.poolID === p.id)) link("load balancer " + l.id, "pool " + p.id);
    for (const node of l.membersRead || p.members.length ? members(p, withMembers) : []) {
      nodes.push(node);
      link("pool " + p.id, node.key);
    }
  }
  return { nodes, edges };
}

/** Both statuses of an object of Octavia; the provisioning status only if it is not the usual one. */
export function both(s: { provisioning: string; operating: string }): string {
  const operating = s.operating === "NO_MONITOR" ? "not monitored" : s.operating;
  if (s.provisioning === "ACTIVE" || s.provisioning === "") return operating || "not read yet";
  return operating ? `${s.provisioning}, ${operating}` : s.provisioning;
}

const badness: State[] = ["failed", "warning", "pending", "unknown", "unmonitored", "ok"];

function members(p: Pool, each: boolean): Node[] {
  const sorted = [...p.members].sort((a, b) => badness.indexOf(a.state) - badness.indexOf(b.state));
  if (!each) return [counted(p, sorted, "members")];
  if (sorted.length <= mostMembers) return p.members.map((m) => memberNode(p, m));
  const shown = sorted.slice(0, mostMembers - 1);
  return [...shown.map((m) => memberNode(p, m)), counted(p, sorted.slice(shown.length), "more members")];
}

const memberNode = (p: Pool, m: Member): Node => ({
  kind: "member", of: m, key: `member ${p.id} ${m.id}`, state: m.state, title: m.name || m.address, detail: `${both(m)} ${m.address}:${m.port}`,
  spoken: `Member ${m.name} ${m.address} port ${m.port}, ${both(m)}`,
});

function counted(p: Pool, all: Member[], what: string): Node {
  const ok = all.filter((m) => m.state === "ok").length;
  const worst = all.length === 0 ? "warning" : all[0].state;
  // A pool that serves is not failed because one of its members is.
  const state = worst === "failed" && ok > 0 ? "warning" : worst;
  const title = all.length === 1 ? "1 " + what.replace(/s$/, "") : `${all.length} ${what}`;
  const detail = serving(all.length, ok, all.filter((m) => m.state === "unmonitored").length);
  return { kind: "members", of: all, key: "members " + p.id, state, title, detail, spoken: `${title} of pool ${p.name}: ${detail}` };
}

/** How many members serve. Without a health monitor this is unknown. */
function serving(all: number, ok: number, unmonitored: number): string {
  if (all === 0) return "none";
  if (unmonitored === all) return "not monitored";
  if (unmonitored > 0) return `${ok} of ${all} serve, ${unmonitored} not monitored`;
  return ok === all ? "all serve" : `${ok} of ${all} serve`;
}

const places = new Map<string, { at: Map<string, { x: number; y: number }>; width: number; height: number }>();
const mostPlaces = 2000;

/** Places the nodes. The same nodes and edges are placed only once, regardless of their states. */
export function place({ nodes, edges }: { nodes: Node[]; edges: Edge[] }): Placed {
  const signature = JSON.stringify([nodes.map((n) => n.key), edges]);
  let found = places.get(signature);
  if (!found) {
    const graph = new Graph();
    graph.setGraph({ rankdir: "LR", nodesep: 10, ranksep: 28, marginx: 6, marginy: 6 });
    graph.setDefaultEdgeLabel(() => ({}));
    for (const n of nodes) graph.setNode(n.key, { width: width[n.kind], height });
    for (const e of edges) graph.setEdge(e.from, e.to);
    layout(graph, { constraints: inOrder(nodes, edges) });
    const size = graph.graph();
    found = { at: new Map(nodes.map((n) => [n.key, graph.node(n.key) as { x: number; y: number }])), width: size.width!, height: size.height! };
    if (places.size >= mostPlaces) places.clear();
    places.set(signature, found);
  }
  const { at } = found;
  const placed = nodes.map((n) => ({ ...n, width: width[n.kind], height, x: at.get(n.key)!.x - width[n.kind] / 2, y: at.get(n.key)!.y - height / 2 }));
  const byKey = new Map(placed.map((n) => [n.key, n]));
  return {
    nodes: placed,
    edges: edges.map((e) => {
      const from = byKey.get(e.from)!;
      const to = byKey.get(e.to)!;
      const [x1, y1, x2, y2] = [from.x + from.width, from.y + height / 2, to.x, to.y + height / 2];
      const bend = (x2 - x1) / 2;
      return { ...e, path: `M${x1},${y1}C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}` };
    }),
    width: found.width,
    height: found.height,
    stacked: false,
  };
}

const stackWidth = 346;
const indent = 14;
const gap = 6;

/** Places the nodes in a column for a narrow screen, each below the first node that leads to it, and indented. */
export function stack({ nodes, edges }: { nodes: Node[]; edges: Edge[] }): Placed {
  const placed = new Map<string, Placed["nodes"][number]>();
  const byKey = new Map(nodes.map((n) => [n.key, n]));
  const put = (key: string, depth: number) =>
    placed.set(key, { ...byKey.get(key)!, x: depth * indent, y: placed.size * (height + gap), width: stackWidth - depth * indent, height });
  const putChildren = (key: string, depth: number) => {
    for (const { from, to } of edges) {
      if (from !== key || placed.has(to)) continue;
      put(to, depth);
      putChildren(to, depth + 1);
    }
  };
  const roots = nodes.filter((n) => !edges.some((e) => e.to === n.key));
  roots.forEach((n) => put(n.key, 0));
  roots.forEach((n) => putChildren(n.key, 1));
  return {
    nodes: [...placed.values()],
    edges: edges.map((e) => {
      const [from, to] = [placed.get(e.from)!, placed.get(e.to)!];
      const middle = to.y + height / 2;
      // A line that leads up starts beside the node, others below it.
      const start = to.y < from.y ? `M${from.x},${from.y + height / 2}H${from.x - 3}` : `M${from.x + indent / 2},${from.y + height}`;
      return { ...e, path: `${start}V${middle}H${to.x}` };
    }),
    width: stackWidth,
    height: placed.size * (height + gap) - gap,
    stacked: true,
  };
}

/** Keeps the children of each node in their order. */
function inOrder(nodes: Node[], edges: Edge[]): { left: string; right: string }[] {
  const all: { left: string; right: string }[] = [];
  for (const n of nodes) {
    const children = edges.filter((e) => e.from === n.key).map((e) => e.to);
    children.slice(1).forEach((right, i) => all.push({ left: children[i], right }));
  }
  return all;
}

/** The node that an arrow key leads to, or null. */
export function neighbour(p: Placed, key: string, arrow: string): string | null {
  if (arrow === "ArrowRight") return nearest(p, key, p.edges.filter((e) => e.from === key).map((e) => e.to));
  if (arrow === "ArrowLeft") return nearest(p, key, p.edges.filter((e) => e.to === key).map((e) => e.from));
  const self = p.nodes.find((n) => n.key === key)!;
  const column = p.nodes.filter((n) => p.stacked || Math.abs(n.x + n.width / 2 - self.x - self.width / 2) < 20).sort((a, b) => a.y - b.y);
  const i = column.findIndex((n) => n.key === key) + (arrow === "ArrowDown" ? 1 : -1);
  return column[i]?.key ?? null;
}

function nearest(p: Placed, key: string, among: string[]): string | null {
  const y = p.nodes.find((n) => n.key === key)!.y;
  const found = p.nodes.filter((n) => among.includes(n.key)).sort((a, b) => Math.abs(a.y - y) - Math.abs(b.y - y));
  return found[0]?.key ?? null;
}
