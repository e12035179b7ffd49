// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Details, Time } from "./details";
import { GraphView } from "./graph";
import { count, List, type Filter } from "./list";
import { apply, groups, select, type Service, type Topology } from "./model";
import { follow, token, type Connection } from "./stream";
import { ThemeSwitch } from "./theme";

const keyOfHash = () => decodeURIComponent(location.hash.slice(1)) || null;

/** The page. */
export function App() {
  const [topology, setTopology] = useState<Topology | null>(null);
  const [connection, setConnection] = useState<Connection>({ state: "connecting" });
  const [attempt, setAttempt] = useState(0);
  const [query, setQuery] = useState("");
  const [filter, setFilter] = useState<Filter>(null);
  const [selected, setSelected] = useState<string | null>(keyOfHash);
  const search = useRef<HTMLInputElement>(null);

  useEffect(() => follow((c) => setTopology((before) => apply(before, c)), setConnection), [attempt]);
  useEffect(() => {
    const onHash = () => setSelected(keyOfHash());
    addEventListener("hashchange", onHash);
    return () => removeEventListener("hashchange", onHash);
  }, []);
  const open = (key: string | null) => {
    if (key !== selected) history.pushState(null, "", key ? "#" + encodeURIComponent(key) : location.pathname + location.search);
    setSelected(key);
  };
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const typing = event.target instanceof HTMLInputElement;
      if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
        event.preventDefault();
        search.current?.focus();
        search.current?.select();
      } else if (event.key === "Escape") {
        if (typing && query) setQuery("");
        else if (selected) {
          open(null);
          search.current?.focus();
        }
      }
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  });

  const all = topology?.services ?? [];
  const shown = useMemo(() => select(all, query, filter), [all, query, filter]);
  const service = all.find((s) => s.key === selected);
  if (connection.state === "token") {
    return (
      <TokenForm
        why={connection.why}
        enter={(text) => {
          token.set(text);
          setAttempt(attempt + 1);
          setConnection({ state: "connecting" });
        }}
      />
    );
  }
  return (
    <>
      <header class="top">
        <h1>
          kube-octavia <span class="place">topology of {topology ? "cluster " + topology.cluster : "…"}</span>
        </h1>
        <Status connection={connection} topology={topology} />
        <ThemeSwitch />
      </header>
      {topology && topology.problems.length > 0 && (
        <div class="problems" role="alert">
          {topology.problems.map((p) => (
            <p key={p.of}>
              <b>{p.of} cannot be read</b> <Time at={p.since} prefix="since " />: {p.message} <span class="action">{p.action}</span>
            </p>
          ))}
        </div>
      )}
      <div class={service ? "columns one" : "columns"}>
        <List {...{ all, shown, query, filter, search, setQuery, setFilter }} selected={service?.key ?? null} open={open} />
        <main>
          {service ? (
            <Details service={service} group={sharing(all, service)} open={open} close={() => open(null)} />
          ) : (
            <Overview topology={topology} shown={shown} missing={topology && selected} open={open} />
          )}
        </main>
      </div>
    </>
  );
}

const sharing = (all: Service[], s: Service) => (s.loadBalancer ? all.filter((o) => o.loadBalancer?.id === s.loadBalancer!.id) : [s]);

function Status({ connection, topology }: { connection: Connection; topology: Topology | null }) {
  if (connection.state === "lost") {
    return (
      <p class="status lost" role="status">
        Disconnected: {connection.why} Trying again.
      </p>
    );
  }
  if (!topology) {
    return (
      <p class="status" role="status">
        Reading the cluster and the cloud …
      </p>
    );
  }
  return (
    <p class="status live">
      <span class="dot" /> Live<Time at={topology.readAt} prefix=", read at " />
      {topology.unread > 0 && <span class="place"> reading the members of {count(topology.unread, "load balancer")}</span>}
    </p>
  );
}

function Overview({ topology, shown, missing, open }: { topology: Topology | null; shown: Service[]; missing: string | null; open: (key: string) => void }) {
  const all = useMemo(() => groups(shown), [shown]);
  if (!topology) return <p class="empty">Reading the cluster and the cloud …</p>;
  return (
    <section class="overview" aria-label="All load balancers">
      {missing && <p class="empty">There is no Service {missing}. It may have been deleted.</p>}
      <Others topology={topology} />
      {topology.note && <p class="empty">{topology.note}.</p>}
      {!topology.note && shown.length === 0 && <p class="empty">{topology.services.length ? "No Service matches the search and the filter." : "There is nothing to show yet."}</p>}
      {all.map((group) => (
        <Group key={group[0].key} group={group} open={open} />
      ))}
    </section>
  );
}

/** Services that share a load balancer. It is drawn again only if one of them has changed. */
function Group({ group, open }: { group: Service[]; open: (key: string) => void }) {
  const last = useRef(group);
  if (last.current.length !== group.length || last.current.some((s, i) => s !== group[i])) last.current = group;
  return (
    <div class="group">
      <GraphView
        services={last.current}
        members={false}
        choose={(node) => open(node.kind === "service" ? node.of.key : group[0].key)}
        label={"Topology of " + group.map((s) => s.key).join(", ")}
      />
    </div>
  );
}

function Others({ topology: { orphans, conflicts, leftPorts } }: { topology: Topology }) {
  const total = orphans.length + conflicts.length + leftPorts.length;
  if (total === 0) return null;
  return (
    <details class="others">
      <summary>
        {count(orphans.length, "orphan")}, {count(conflicts.length, "conflict")}, {count(leftPorts.length, "port")} left behind
      </summary>
      <ul>
        {conflicts.map((c) => (
          <li key={"conflict" + c.id}>
            <b>Conflict</b> of Service {c.namespace}/{c.name}: {c.message}
          </li>
        ))}
        {orphans.map((o) => (
          <li key={"orphan" + o.id}>
            <b>Orphan</b>: {o.kind} {o.name} <code>{o.id}</code> {o.inUse}
          </li>
        ))}
        {leftPorts.map((o) => (
          <li key={"port" + o.id}>
            <b>Left behind</b> by Octavia: {o.kind} {o.name} <code>{o.id}</code>
          </li>
        ))}
      </ul>
    </details>
  );
}

function TokenForm({ why, enter }: { why: string; enter: (token: string) => void }) {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);
  return (
    <main class="token">
      <h1>kube-octavia</h1>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const text = input.current!.value.trim();
          if (text) enter(text);
        }}
      >
        {why && <p role="alert">{why}</p>}
        <label for="token">Token of a user who may see the topology</label>
        <input ref={input} id="token" type="password" autocomplete="off" required />
        <button type="submit">Show the topology</button>
        <p class="place">
          For example the output of <code>kubectl create token NAME</code> for a ServiceAccount with ClusterRole kube-octavia-topology-viewer. The
          token is kept until this tab is closed.
        </p>
      </form>
    </main>
  );
}
