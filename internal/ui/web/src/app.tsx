// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Details } from "./details";
import { GraphView } from "./graph";
import { Icon } from "./icon";
import { count, List } from "./list";
import { apply, groups, select, type Service, type Topology } from "./model";
import { follow, token, type Connection } from "./stream";
import { ThemeSwitch } from "./theme";
import { Age, Time, timeOf } from "./time";
import { Timeline } from "./timeline";
import { format, parse, type View } from "./view";

/** The page. */
export function App() {
  const [topology, setTopology] = useState<Topology | null>(null);
  const [connection, setConnection] = useState<Connection>({ state: "connecting" });
  const [attempt, setAttempt] = useState(0);
  const [view, setView] = useState(() => parse(location.hash));
  const { service: selected, query, filter } = view;
  const search = useRef<HTMLInputElement>(null);

  useEffect(() => follow((c) => setTopology((before) => apply(before, c)), setConnection), [attempt]);
  useEffect(() => {
    const onMove = () => setView(parse(location.hash));
    addEventListener("hashchange", onMove); // also by the back button
    return () => removeEventListener("hashchange", onMove);
  }, []);
  // Each step is an entry of the history, except for the characters of a search. The URL may be newer than the view that
  // was rendered last.
  const show = (change: Partial<View>) => {
    const before = parse(location.hash);
    const next = { ...before, ...change };
    const url = location.pathname + location.search + format(next);
    if (before.query && change.query) history.replaceState(null, "", url);
    else if (format(before) !== format(next)) history.pushState(null, "", url);
    setView(next);
  };
  const open = (key: string | null) => show({ service: key });
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const typing = event.target instanceof HTMLInputElement;
      const { service: selected, query } = parse(location.hash);
      if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
        event.preventDefault();
        search.current?.focus();
        search.current?.select();
      } else if (event.key === "Escape") {
        if (typing && query) show({ query: "" });
        else if (selected) {
          open(null);
          search.current?.focus();
        }
      }
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, []);

  const all = topology?.services ?? [];
  const shown = useMemo(() => select(all, query, filter), [all, query, filter]);
  const service = all.find((s) => s.key === selected);
  const failed = all.filter((s) => s.state === "failed").length;
  useEffect(() => {
    document.title = (failed ? `${failed} failed · ` : "") + "kube-octavia topology";
  }, [failed]);
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
          kube-octavia{" "}
          <span class="place" title={topology?.cluster}>
            topology of {topology ? "cluster " + topology.cluster : "…"}
          </span>
        </h1>
        <Status connection={connection} topology={topology} />
        <ThemeSwitch />
      </header>
      {topology && topology.problems.length > 0 && (
        <div class="problems">
          <div role="alert">
            {topology.problems.map((p) => (
              <p key={p.of}>
                <b>{p.of} cannot be read</b> <Time at={p.since} prefix="since " />: {p.message.replace(/\.$/, "")}. <span class="action">{p.action}</span>
              </p>
            ))}
          </div>
          {topology.problems.map((p) => (
            <p key={p.of}>
              <Shown what={sources[p.of]?.what ?? p.of} at={sources[p.of]?.at(topology) ?? ""} />
            </p>
          ))}
        </div>
      )}
      <div class={service ? "columns one" : "columns"}>
        <List
          {...{ all, shown, query, filter, search }}
          setQuery={(text) => show({ query: text })}
          setFilter={(next) => show({ filter: next })}
          selected={service?.key ?? null}
          open={open}
        />
        <main>
          {service ? (
            <Details
              service={service}
              group={sharing(all, service)}
              entries={topology!.timeline.filter((e) => e.service === service.key)}
              since={topology!.timelineSince}
              open={open}
              close={() => open(null)}
            />
          ) : (
            <Overview topology={topology} shown={shown} missing={topology && selected} open={open} />
          )}
        </main>
      </div>
    </>
  );
}

const sharing = (all: Service[], s: Service) => (s.loadBalancer ? all.filter((o) => o.loadBalancer?.id === s.loadBalancer!.id) : [s]);

/** The source of problems, and when it was read last. */
const sources: Record<string, { what: string; at: (t: Topology) => string }> = {
  Kubernetes: { what: "Services", at: (t) => t.servicesAt },
  OpenStack: { what: "load balancers", at: (t) => t.readAt },
};

/** The age of the shown data. */
function Shown({ what, at }: { what: string; at: string }) {
  if (!timeOf(at)) return <>No {what} were read yet.</>;
  return (
    <>
      Shown are the {what} of <Time at={at} />, <Age at={at} /> ago.
    </>
  );
}

function Status({ connection, topology }: { connection: Connection; topology: Topology | null }) {
  if (connection.state === "lost") {
    return (
      <p class="status lost" role="status">
        Disconnected: {connection.why} Trying again. {topology && <Shown what="load balancers" at={topology.readAt} />}
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
  if (topology.problems.length > 0) {
    return (
      <p class="status stale">
        <Icon state="warning" />{" "}
        {timeOf(topology.readAt) ? (
          <>
            Not up to date, read <Age at={topology.readAt} /> ago
          </>
        ) : (
          "Not read yet"
        )}
      </p>
    );
  }
  if (!timeOf(topology.readAt)) {
    return (
      <p class="status" role="status">
        Reading the load balancers …
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
      <Changes topology={topology} open={open} />
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
      {last.current
        .filter((s) => s.reasons.length > 0)
        .map((s) => (
          <p key={s.key} class="why" title={s.reasons.join("\n")}>
            <span class="unseen">{s.key}: </span>
            {s.reasons[0]}
          </p>
        ))}
    </div>
  );
}

function Changes({ topology: { timeline, timelineSince }, open }: { topology: Topology; open: (key: string) => void }) {
  if (timeline.length === 0) return null;
  return (
    <details class="changes">
      <summary>
        Timeline: {count(timeline.length, "change")}
        <Time at={timelineSince} prefix=" since " />
      </summary>
      <Timeline entries={timeline} open={open} />
    </details>
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
