// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// The stream of changes. EventSource cannot send a token, so the stream is read by fetch.

import type { Change } from "./model";

export type Connection =
  | { state: "connecting" }
  | { state: "live" }
  | { state: "lost"; why: string }
  | { state: "token"; why: string };

const tokenKey = "kube-octavia-token";

export const token = {
  get: () => sessionStorage.getItem(tokenKey) ?? "",
  set: (text: string) => sessionStorage.setItem(tokenKey, text),
  clear: () => sessionStorage.removeItem(tokenKey),
};

const retryAfter = 3000;
/** The server sends something at least every 10 s. */
const silence = 35_000;

/** Follows the topology until stop is called. */
export function follow(changed: (c: Change) => void, connected: (c: Connection) => void): () => void {
  const ended = new AbortController();
  void (async () => {
    while (!ended.signal.aborted) {
      connected({ state: "connecting" });
      const state = await read(ended.signal, changed, () => connected({ state: "live" }));
      if (ended.signal.aborted) return;
      if (state.state !== "connecting") connected(state);
      if (state.state === "token") return;
      if (state.state === "lost") await pause(retryAfter, ended.signal);
    }
  })();
  return () => ended.abort();
}

/** Reads one stream to its end. "connecting" means that the next one can be opened at once. */
async function read(ended: AbortSignal, changed: (c: Change) => void, live: () => void): Promise<Connection> {
  const request = new AbortController();
  const abort = () => request.abort();
  ended.addEventListener("abort", abort);
  let timer = setTimeout(abort, silence);
  try {
    const headers: Record<string, string> = { Accept: "text/event-stream" };
    if (token.get()) headers.Authorization = "Bearer " + token.get();
    const answer = await fetch("topology/events", { headers, signal: request.signal, cache: "no-store" });
    if (answer.status === 401) {
      const why = token.get() ? "The cluster does not accept this token: it may have expired." : "";
      token.clear();
      return { state: "token", why };
    }
    // The answer of the server's filter to a wrong token.
    if (answer.status === 500 && token.get()) {
      token.clear();
      return { state: "token", why: "The cluster does not accept this token, or cannot check it: " + (await answer.text()).trim() + "." };
    }
    if (answer.status === 403 && token.get()) {
      token.clear();
      return { state: "token", why: "The user of this token may not see the topology. " + (await answer.text()).trim() + "." };
    }
    if (!answer.ok || !answer.body) return { state: "lost", why: (await answer.text()).trim() || answer.statusText };
    let received = false;
    for await (const event of events(answer.body, () => {
      clearTimeout(timer);
      timer = setTimeout(abort, silence);
    })) {
      if (event.name !== "change") continue;
      changed(JSON.parse(event.data) as Change);
      live();
      received = true;
    }
    return received ? { state: "connecting" } : { state: "lost", why: "The server ended the stream." };
  } catch {
    return { state: "lost", why: "The server does not answer. Does kube-octavia ui still run?" };
  } finally {
    clearTimeout(timer);
    ended.removeEventListener("abort", abort);
  }
}

async function* events(body: ReadableStream<Uint8Array>, alive: () => void) {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    alive();
    const parts = (rest + value).split("\n\n");
    rest = parts.pop()!;
    for (const part of parts) {
      let name = "";
      const data: string[] = [];
      for (const line of part.split("\n")) {
        if (line.startsWith("event: ")) name = line.slice("event: ".length);
        if (line.startsWith("data: ")) data.push(line.slice("data: ".length));
      }
      if (name) yield { name, data: data.join("\n") };
    }
  }
}

function pause(time: number, ended: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const timer = setTimeout(done, time);
    ended.addEventListener("abort", () => {
      clearTimeout(timer);
      done();
    });
  });
}
