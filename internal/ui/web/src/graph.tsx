// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Icon } from "./icon";
import { graphOf, neighbour, place, stack, type Node } from "./layout";
import type { Service } from "./model";

const ruler = document.createElement("canvas").getContext("2d")!;

/** The text, shortened in the middle so that it fits into a width in a font. */
function fit(text: string, width: number, font: string): string {
  ruler.font = font + getComputedStyle(document.body).fontFamily;
  let shown = text;
  for (let most = text.length - 1; most > 0 && ruler.measureText(shown).width > width; most--) {
    const tail = Math.floor((most - 1) / 3);
    shown = text.slice(0, most - 1 - tail) + "…" + text.slice(text.length - tail);
  }
  return shown;
}

const narrowScreens = matchMedia("(max-width: 640px)");

/** Reports whether the screen is narrow, and updates when it is rotated. */
function useNarrow(): boolean {
  const [narrow, setNarrow] = useState(narrowScreens.matches);
  useEffect(() => {
    const onChange = () => setNarrow(narrowScreens.matches);
    narrowScreens.addEventListener("change", onChange);
    return () => narrowScreens.removeEventListener("change", onChange);
  }, []);
  return narrow;
}

interface Props {
  services: Service[];
  members: boolean;
  selected?: string;
  /** Whether the arrow keys move within this graph; otherwise only its first node can get the focus. */
  choose: (node: Node) => void;
  label: string;
}

/** The graph of Services with one load balancer. One node can get the focus; the arrow keys move it. */
export function GraphView({ services, members, selected, choose, label }: Props) {
  const narrow = useNarrow();
  const placed = useMemo(() => (narrow ? stack : place)(graphOf(services, members)), [services, members, narrow]);
  const [focus, setFocus] = useState("");
  const svg = useRef<SVGSVGElement>(null);
  const current = placed.nodes.some((n) => n.key === focus) ? focus : placed.nodes[0].key;

  const onKeyDown = (event: KeyboardEvent, node: Node) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      choose(node);
    } else if (event.key.startsWith("Arrow")) {
      event.preventDefault();
      const next = neighbour(placed, node.key, event.key);
      if (!next) return;
      setFocus(next);
      svg.current?.querySelector<SVGGElement>(`[data-key="${CSS.escape(next)}"]`)?.focus();
    }
  };

  return (
    <svg ref={svg} class={placed.width > 720 ? "graph wide" : "graph"} role="group" aria-label={label} width={placed.width} height={placed.height} viewBox={`0 0 ${placed.width} ${placed.height}`}>
      {placed.edges.map((e) => (
        <path key={e.from + e.to} class="edge" d={e.path} />
      ))}
      {placed.nodes.map((n) => (
        <g
          key={n.key}
          data-key={n.key}
          class={"node " + n.state + (n.key === selected ? " selected" : "")}
          transform={`translate(${n.x},${n.y})`}
          role="button"
          tabIndex={n.key === current ? 0 : -1}
          aria-label={n.spoken}
          aria-pressed={n.key === selected}
          onClick={() => choose(n)}
          onFocus={() => setFocus(n.key)}
          onKeyDown={(event) => onKeyDown(event, n)}
        >
          <title>{n.spoken}</title>
          <rect class="box" width={n.width} height={n.height} rx={6} />
          <rect class="edge-mark" width={4} height={n.height} rx={2} />
          <Icon state={n.state} x={12} y={14} />
          <text class="title" x={35} y={19}>
            {fit(n.title, n.width - 41, "600 13px ")}
          </text>
          <text class="detail" x={35} y={34}>
            {fit(n.detail, n.width - 41, "11.5px ")}
          </text>
        </g>
      ))}
    </svg>
  );
}
