// Many nodes: as many per page as can be drawn and read at once, with a map of all above.

import type { Machine } from "../data.ts";
import { svg } from "../dom.ts";
import { theme } from "../theme.ts";
import { viridisCss } from "../words/colours.ts";

/** Cores that are drawn at once. */
const CORES = 1024;
const NODES = 48;

/** Nodes per page. */
export function pageSize({ nodes, types }: Machine): number {
  const largest = Math.max(1, ...nodes.map((node) => types[node.type].cores));
  return Math.max(1, Math.min(NODES, Math.floor(CORES / largest)));
}

/** One square per node, coloured by bytes; a click chooses its page. */
export function overview(shares: Float64Array, from: number, to: number, width: number): SVGSVGElement {
  const many = shares.length > 1024;
  const cell = many ? 7 : 12;
  const columns = Math.max(1, Math.floor(width / cell));
  const height = Math.ceil(shares.length / columns) * cell + 2;
  const out = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true", class: "overview" });
  shares.forEach((share, node) => {
    const shown = node >= from && node < to;
    out.append(
      svg("rect", {
        "data-node": node,
        x: (node % columns) * cell + 1,
        y: Math.floor(node / columns) * cell + 1,
        width: cell - 1.5,
        height: cell - 1.5,
        fill: share < 0 ? "var(--inset)" : viridisCss(share, theme()),
        stroke: shown ? "var(--text)" : "none",
        "stroke-width": 1.5,
      }),
    );
  });
  return out;
}
