// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// The view of the page, in the fragment of its URL: so it can be shared, and the back button works. Browsers do not send
// the fragment to the server.

import { states, type State } from "./model";

/** A state of Services, or another property to filter by. */
export type Filter = State | "drift" | null;

export interface View {
  /** The key of the open Service. */
  service: string | null;
  query: string;
  filter: Filter;
}

const filters: string[] = [...states.map((s) => s.state), "drift", "unmonitored"];

/** Reads a fragment such as "#service=shop/web&state=failed&search=worker-1". Without a name it is the key of a Service. */
export function parse(fragment: string): View {
  const text = fragment.replace(/^#/, "");
  if (!text.includes("=")) return { service: decode(text) || null, query: "", filter: null };
  const values = new URLSearchParams(text);
  const state = values.get("state");
  return { service: values.get("service") || null, query: values.get("search") ?? "", filter: state && filters.includes(state) ? (state as Filter) : null };
}

/** A fragment that parse reads, or "" for the default view. */
export function format({ service, query, filter }: View): string {
  const values = new URLSearchParams();
  if (service) values.set("service", service);
  if (filter) values.set("state", filter);
  if (query) values.set("search", query);
  const text = values.toString().replaceAll("%2F", "/");
  return text && "#" + text;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
