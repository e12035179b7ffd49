// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "./icon";
import { labelOf, matches, states, type Service } from "./model";
import type { Filter } from "./view";

interface Props {
  all: Service[];
  shown: Service[];
  query: string;
  filter: Filter;
  selected: string | null;
  search: RefObject<HTMLInputElement | null>;
  setQuery: (query: string) => void;
  setFilter: (filter: Filter) => void;
  open: (key: string) => void;
}

/** The list of Services, with the search and the filters. */
export function List({ all, shown, query, filter, selected, search, setQuery, setFilter, open }: Props) {
  const [active, setActive] = useState<string | null>(null);
  const list = useRef<HTMLUListElement>(null);
  const position = shown.findIndex((s) => s.key === (active ?? selected));

  const onListKey = (event: KeyboardEvent) => {
    const moves: Record<string, number> = {
      ArrowDown: position + 1, ArrowUp: position - 1, PageDown: position + 10, PageUp: position - 10, Home: 0, End: shown.length - 1,
    };
    if (shown.length === 0) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      open(shown[Math.max(position, 0)].key);
    } else if (event.key in moves) {
      event.preventDefault();
      setActive(shown[Math.min(Math.max(moves[event.key], 0), shown.length - 1)].key);
    }
  };
  // From the search, the arrow leads to the list, and Enter opens the first Service.
  const onSearchKey = (event: KeyboardEvent) => {
    if (shown.length === 0) return;
    if (event.key === "ArrowDown") {
      event.preventDefault();
      setActive(shown[Math.max(position, 0)].key);
      list.current?.focus();
    } else if (event.key === "Enter") {
      event.preventDefault();
      open(shown[Math.max(position, 0)].key);
    }
  };
  useEffect(() => {
    list.current?.querySelector(".active")?.scrollIntoView({ block: "nearest" });
  }, [active, selected]);

  const activeKey = position >= 0 ? shown[position].key : null;
  return (
    <nav class="list" aria-label="Services">
      <div class="search">
        <input
          ref={search}
          type="search"
          id="search"
          placeholder="Search: name, address, reason ( / )"
          aria-label="Search Services by name, namespace, address, port, reason, load balancer or node"
          aria-controls="services"
          value={query}
          onInput={(e) => {
            setQuery(e.currentTarget.value);
            setActive(null);
          }}
          onKeyDown={onSearchKey}
          autocomplete="off"
          spellcheck={false}
        />
        <div class="filters" role="group" aria-label="Filter by state">
          {filters.map(({ of, label }) => (
            <FilterButton key={label} of={of} count={all.filter((s) => matches(s, of)).length} {...{ label, filter, setFilter }} />
          ))}
        </div>
        <p class="count" role="status">
          {shown.length === all.length ? count(all.length, "Service") : `${shown.length} of ${count(all.length, "Service")}`}
        </p>
      </div>
      <ul ref={list} id="services" role="listbox" aria-label="Services" tabIndex={0} onKeyDown={onListKey} aria-activedescendant={activeKey ? "service-" + activeKey : undefined}>
        {shown.map((s) => (
          <li
            key={s.key}
            id={"service-" + s.key}
            role="option"
            aria-selected={s.key === selected}
            class={(s.key === activeKey ? "active " : "") + (s.key === selected ? "selected" : "")}
            onClick={() => {
              setActive(s.key);
              open(s.key);
            }}
          >
            <Icon state={s.state} />
            <span class="name" title={s.key}>
              <strong>{s.name}</strong>
              <span class="place">{s.namespace}</span>
            </span>
            <span class="address">
              <span title={s.addresses.join(", ")}>{s.addresses[0] ?? "no address"}</span>
              <span class="place">{stateText(s)}</span>
            </span>
            {s.reasons.length > 0 && (
              <span class="reason" title={s.reasons.join("\n")}>
                {s.reasons[0]}
              </span>
            )}
          </li>
        ))}
      </ul>
    </nav>
  );
}

const filters: { of: Filter; label: string }[] = [
  { of: null, label: "All" },
  ...states.map(({ state, label }) => ({ of: state, label })),
  { of: "drift", label: "Drift" },
  { of: "unmonitored", label: "Not monitored" },
];

function stateText(s: Service): string {
  if (s.plan.drift) return labelOf(s.state) + ", drift";
  return s.state === "ok" && s.unmonitored.length > 0 ? "OK, not monitored" : labelOf(s.state);
}

function FilterButton({ of, count, label, filter, setFilter }: { of: Filter; count: number; label: string; filter: Filter; setFilter: (f: Filter) => void }) {
  if (of !== null && count === 0 && filter !== of) return null;
  return (
    <button type="button" class={"filter " + (of ?? "all")} aria-pressed={filter === of} onClick={() => setFilter(filter === of ? null : of)}>
      {label} <b>{count}</b>
    </button>
  );
}

export const count = (n: number, what: string) => `${n} ${what}${n === 1 ? "" : "s"}`;
