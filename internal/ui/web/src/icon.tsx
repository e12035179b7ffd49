// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

import type { State } from "./model";

/** The shape of a state, so that states can be distinguished without colours. */
const shapes: Record<State, string> = {
  unmonitored: "M5 8h6",
  ok: "M3.5 8.5 6.5 11.5 12.5 5",
  unknown: "M5.7 6.2a2.3 2.3 0 1 1 3.3 2.1c-.7.4-1 .8-1 1.5M8 12v.1",
  pending: "M8 4v4l2.6 2",
  warning: "M8 4.5v4.2M8 11.4v.1",
  failed: "M5 5l6 6M11 5l-6 6",
};

const frames: Record<State, string> = {
  unmonitored: "M8 1a7 7 0 1 1 0 14A7 7 0 1 1 8 1z",
  ok: "M8 1a7 7 0 1 1 0 14A7 7 0 1 1 8 1z",
  unknown: "M8 1a7 7 0 1 1 0 14A7 7 0 1 1 8 1z",
  pending: "M8 1a7 7 0 1 1 0 14A7 7 0 1 1 8 1z",
  warning: "M8 .8 15.6 14.6H.4z",
  failed: "M4.9.8h6.2l4.1 4.1v6.2l-4.1 4.1H4.9L.8 11.1V4.9z",
};

/** The icon of a state, 16 by 16, as part of an svg or as a separate one. */
export function Icon({ state, x, y }: { state: State; x?: number; y?: number }) {
  return (
    <svg class={"icon " + state} x={x} y={y} width={16} height={16} viewBox="0 0 16 16" aria-hidden="true">
      <path class="frame" d={frames[state]} />
      <path class="sign" d={shapes[state]} />
    </svg>
  );
}
