// Draws nodes with the ranks in them.

import type { Job, Machine } from "../data.ts";
import { svg } from "../dom.ts";
import { textWidth } from "../figures/measure.ts";
import { theme } from "../theme.ts";
import { blackOn, viridis } from "../words/colours.ts";
import { CELL, chipText, nodeBox, type NodeBox } from "./layout.ts";
import type { Part } from "./pages.ts";
import { jobOf, type Inhabitants } from "./ranks.ts";

const BETWEEN = 12;

/** What lights up: a rank, and the share of the colour scale of each partner. */
export interface Lit {
  rank: number;
  partners: Map<number, number>;
}

export interface Scene {
  machine: Machine;
  /** What is drawn, in this order. */
  parts: Part[];
  inhabitants: Inhabitants[];
  jobs: Job[];
  /** Index of the only job that is shown, or -1. */
  job: number;
  lit: Lit | null;
}

/** The drawing of some nodes, as wide as there is room. */
export function draw(scene: Scene, width: number): SVGSVGElement {
  const boxes = scene.parts.map(({ node, numas, loose }) =>
    nodeBox(scene.machine.types[scene.machine.nodes[node].type], width - 2, loose.length, numas),
  );
  const out = svg("svg", { "aria-hidden": "true", "font-size": 10, "text-anchor": "middle" });
  let [x, y, rowHeight] = [1, 1, 0];
  boxes.forEach((box, i) => {
    if (x > 1 && x + box.width > width) [x, y, rowHeight] = [1, y + rowHeight + BETWEEN, 0];
    const group = drawPart(scene, scene.parts[i], box);
    group.setAttribute("transform", `translate(${x},${y})`);
    out.append(group);
    x += box.width + BETWEEN;
    rowHeight = Math.max(rowHeight, box.height);
  });
  const height = y + rowHeight + 1;
  for (const [name, value] of Object.entries({ viewBox: `0 0 ${width} ${height}`, width, height })) {
    out.setAttribute(name, String(value));
  }
  return out;
}

function drawPart(scene: Scene, { node, whole, loose }: Part, box: NodeBox): SVGGElement {
  const { machine, inhabitants } = scene;
  const { name, switch: above } = machine.nodes[node];
  const of = above === null ? "" : (machine.switches[above]?.name ?? "");
  const title = [whole ? name : `${name} (a part)`, ...(of ? [of] : [])].join(" · ");
  const group = svg(
    "g",
    {},
    svg("rect", { width: box.width, height: box.height, rx: 4, fill: "var(--surface)", stroke: "var(--strong-line)" }),
    text(8, 15, clipped(title, box.width - 14, textWidth(title, 11, 600) / title.length), { "text-anchor": "start", "font-weight": 600, "font-size": 11 }),
  );
  for (const numa of box.numas) {
    group.append(
      svg("rect", { x: numa.x, y: numa.y, width: numa.width, height: numa.height, rx: 3, fill: "var(--inset)", stroke: "var(--line)" }),
      text(numa.x + 5, numa.y + 13, clipped(numa.label, numa.width - 6, 5.6), { "text-anchor": "start", fill: "var(--muted)" }),
    );
  }
  const here = inhabitants[node];
  for (const { core, x, y } of box.cores) group.append(coreCell(scene, here, core, x, y));
  for (const chip of box.chips) {
    const shown = clipped(chipText(chip), chip.width - 6, 5.8);
    group.append(
      svg("rect", { x: chip.x, y: chip.y, width: chip.width, height: 18, rx: 9, fill: "none", stroke: "var(--muted)" }),
      text(chip.x + chip.width / 2, chip.y + 12.5, shown, { fill: "var(--muted)" }),
    );
  }
  if (loose.length > 0) {
    const { x, y, columns } = box.loose;
    group.append(text(x, y - 5, clipped("ranks bound to no core", box.width - 12, 5.6), { "text-anchor": "start", fill: "var(--muted)" }));
    loose.forEach((rank, i) => {
      group.append(rankCell(scene, [rank], x + (i % columns) * CELL, y + Math.floor(i / columns) * CELL));
    });
  }
  return group;
}

function coreCell(scene: Scene, here: Inhabitants | undefined, core: number, x: number, y: number): SVGElement {
  const ranks = here?.onCore.get(core);
  if (ranks) return rankCell(scene, ranks, x, y);
  const owner = here?.alsoOf.get(core);
  if (owner !== undefined) return rankCell(scene, [owner], x, y, true);
  return svg("rect", { x: x + 1, y: y + 1, width: CELL - 2, height: CELL - 2, rx: 2, fill: "none", stroke: "var(--line)" });
}

/** The ranks on a core; `further`: it is not the rank's first core, and so has no number. */
function rankCell(scene: Scene, ranks: number[], x: number, y: number, further = false): SVGGElement {
  const [rank] = ranks;
  const { fill, ink, stroke } = look(scene, ranks);
  const label = ranks.length > 1 ? `${rank}+` : String(rank);
  const faint = scene.job >= 0 && !ranks.some((one) => jobOf(one, scene.jobs) === scene.job);
  return svg(
    "g",
    { "data-rank": rank, opacity: faint ? 0.25 : null },
    svg("rect", { x: x + 1, y: y + 1, width: CELL - 2, height: CELL - 2, rx: 2, fill, stroke, "stroke-width": stroke === "none" ? null : 2.5 }),
    further ? null : text(x + CELL / 2, y + CELL / 2 + 3.5, label, { fill: ink, "font-size": label.length > 4 ? 7 : label.length > 3 ? 8.5 : 10 }),
  );
}

function look({ lit, jobs }: Scene, ranks: number[]): { fill: string; ink: string; stroke: string } {
  if (lit && ranks.includes(lit.rank)) return { fill: "var(--text)", ink: "var(--surface)", stroke: "var(--counted)" };
  const share = lit && Math.max(...ranks.map((rank) => lit.partners.get(rank) ?? -1));
  if (share !== null && share >= 0) {
    const colour = viridis(share, theme());
    return { fill: `rgb(${colour.join(",")})`, ink: blackOn(colour) ? "#000" : "#fff", stroke: "none" };
  }
  const job = jobs.length > 1 ? jobOf(ranks[0], jobs) % 4 : 0;
  return { fill: `var(--job-${Math.max(0, job)})`, ink: "var(--text)", stroke: "none" };
}

function text(x: number, y: number, content: string, attributes: Record<string, string | number> = {}): SVGTextElement {
  return svg("text", { x, y, fill: "var(--text)", ...attributes }, content);
}

function clipped(content: string, room: number, perLetter: number): string {
  const letters = Math.max(1, Math.floor(room / perLetter));
  return content.length <= letters ? content : `${content.slice(0, letters - 1)}…`;
}
