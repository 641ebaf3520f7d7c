// Axes of a heat map as SVG: title, ticks at the middle of cells, borders of groups, names of groups.

import { svg } from "../dom.ts";
import { fitted, sideBySide, textWidth } from "../figures/measure.ts";
import type { Tick } from "../words/scales.ts";

/** Cells begin .. end belong together, such as the ranks of one node. */
export interface Group {
  begin: number;
  end: number;
  name: string;
}

export interface Axis {
  title: string;
  /** Ticks for the cells from low to high, about `wanted` of them; `at` is in cells. */
  ticks(low: number, high: number, wanted: number): Tick[];
  groups: Group[];
  /** Pixels from one label to the next, at least. */
  apart: number;
}

/** The area of the cells inside the drawing. */
export interface Plot {
  left: number;
  top: number;
  width: number;
  height: number;
}

export const FONT = 11;

/** Room around the cells, besides that of the labels of rows. */
export const MARGIN = { top: 22, right: 14, bottom: 40 };

/** Room for the title of the rows, and between their labels and the cells. */
const TITLE = 19;
const TO_CELLS = 7;

/** Room that rows with these labels need, with their title. */
export function roomFor(labels: string[]): number {
  return Math.ceil(TITLE + TO_CELLS + labels.reduce((most, label) => Math.max(most, textWidth(label, FONT)), 0));
}

/** Borders closer than this many pixels are left out: they would hide the cells. */
const CLOSEST_BORDERS = 8;

/** The axis below the cells, with the names of groups above them. */
export function columnAxis(axis: Axis, plot: Plot, low: number, high: number): SVGGElement {
  const scale = plot.width / (high - low);
  const at = (cell: number) => plot.left + (cell - low) * scale;
  const bottom = plot.top + plot.height;
  const group = svg("g", { "text-anchor": "middle" });
  const ticks = axis.ticks(low, high, plot.width / axis.apart);
  for (const tick of ticks) group.append(svg("path", { d: `M${at(tick.at)},${bottom}v4`, stroke: "currentColor" }));
  const labels = ticks.map((tick) => ({ at: at(tick.at), width: textWidth(tick.label, FONT), text: tick.label }));
  for (const label of sideBySide(labels, 0, plot.left + plot.width + MARGIN.right)) {
    group.append(svg("text", { x: label.at, y: bottom + 15 }, label.text));
  }
  group.append(svg("text", { x: plot.left + plot.width / 2, y: bottom + 32, "font-weight": 600 }, axis.title));
  borders(axis.groups, low, high, scale, (cell) => {
    group.append(line(`M${at(cell)},${plot.top}v${plot.height}`));
  });
  for (const { begin, end, name } of axis.groups) {
    const from = Math.max(begin, low);
    const to = Math.min(end, high);
    if ((to - from) * scale > textWidth(name, FONT) + 6) {
      group.append(svg("text", { x: at((from + to) / 2), y: plot.top - 6 }, name));
    }
  }
  return group;
}

/** The axis left of the cells. */
export function rowAxis(axis: Axis, plot: Plot, low: number, high: number): SVGGElement {
  const scale = plot.height / (high - low);
  const at = (cell: number) => plot.top + (cell - low) * scale;
  const group = svg("g", { "text-anchor": "end" });
  const room = plot.left - TITLE - TO_CELLS;
  for (const tick of axis.ticks(low, high, plot.height / axis.apart)) {
    group.append(
      svg("path", { d: `M${plot.left},${at(tick.at)}h-4`, stroke: "currentColor" }),
      svg("text", { x: plot.left - TO_CELLS, y: at(tick.at), dy: "0.35em" }, fitted(tick.label, room, FONT)),
    );
  }
  const middle = plot.top + plot.height / 2;
  group.append(
    svg(
      "text",
      { transform: `translate(12,${middle}) rotate(-90)`, "text-anchor": "middle", "font-weight": 600 },
      axis.title,
    ),
  );
  borders(axis.groups, low, high, scale, (cell) => {
    group.append(line(`M${plot.left},${at(cell)}h${plot.width}`));
  });
  return group;
}

function borders(groups: Group[], low: number, high: number, scale: number, draw: (cell: number) => void) {
  const inside = groups.map((group) => group.begin).filter((cell) => cell > low && cell < high);
  if (inside.length === 0 || ((high - low) * scale) / (inside.length + 1) < CLOSEST_BORDERS) return;
  inside.forEach(draw);
}

function line(d: string) {
  return svg("path", { d, stroke: "currentColor", "stroke-opacity": 0.45, fill: "none" });
}
