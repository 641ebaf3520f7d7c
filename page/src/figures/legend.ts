// The legend of a colour scale.

import { el, onWidth, svg } from "../dom.ts";
import { onTheme, theme } from "../theme.ts";
import { viridisCss } from "../words/colours.ts";
import type { Key } from "./chart.ts";
import { APART, sideBySide, textWidth, type Label } from "./measure.ts";
import { percent } from "../words/format.ts";
import { logTicks } from "../words/scales.ts";

const FONT = 11;

/** Below this width in pixels the title stands above the bar, whose labels need the room. */
const NARROW = 380;

/** What is written below the bar, at shares of its length. */
interface Mark {
  at: number;
  label: string;
}

/** A logarithmic scale from the least to the most. */
export function logLegend(title: string, least: number, most: number, format: (value: number) => string): HTMLElement {
  const at = (value: number) => (most > least ? Math.log(value / least) / Math.log(most / least) : 1);
  const marks = logTicks(least, most).map((value) => ({ at: at(value), label: format(value) }));
  if (marks.length === 1) return legend(title, `${format(most)} each`, marks);
  return legend(title, `from ${format(least)} to ${format(most)}, logarithmic`, marks);
}

/** Both ends of a colour scale, for saved pictures. */
export function ends(least: string, most: string): Key[] {
  return [least, most].map((name, i) => ({ name, colour: viridisCss(i, theme()), sign: "bar" }));
}

/** A linear scale from nothing to a share. */
export function shareLegend(title: string, end: number): HTMLElement {
  return legend(title, `from 0 to ${percent(end)}`, [0, 0.5, 1].map((at) => ({ at, label: percent(at * end) })));
}

function legend(title: string, range: string, marks: Mark[]): HTMLElement {
  const place = el("div", { class: "legend", role: "img", "aria-label": `Colours: ${title}, ${range}` });
  let width = 0;
  const draw = () => {
    if (width > 0) place.replaceChildren(bar(title, marks, width));
  };
  onTheme(draw);
  onWidth(place, (now) => {
    width = Math.min(420, now);
    draw();
  });
  return place;
}

/** Width of the colour of a scale with a single value. */
const ONE = 24;

function bar(title: string, marks: Mark[], width: number): SVGSVGElement {
  const single = marks.length === 1;
  const above = !single && width < NARROW;
  const begin = above ? 0 : Math.ceil(textWidth(title, FONT)) + 34;
  const top = above ? 18 : 2;
  const height = top + (single ? 16 : 32);
  const drawn = single ? one(marks[0], begin, top) : scale(marks, { begin, top, length: width - begin - (above ? 0 : 30), width });
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, width, height, "font-size": FONT, "aria-hidden": "true" },
    svg("text", { x: 0, y: 12, fill: "currentColor" }, title),
    ...drawn,
  );
}

/** The colour of a scale with a single value. */
function one({ label }: Mark, begin: number, top: number): SVGElement[] {
  return [
    svg("rect", { x: begin, y: top, width: ONE, height: 12, fill: viridisCss(1, theme()) }),
    svg("text", { x: begin + ONE + 6, y: top + 10, fill: "currentColor" }, label),
  ];
}

/** Where the bar of a scale lies in a drawing of some width. */
interface Bar {
  begin: number;
  top: number;
  length: number;
  width: number;
}

/** Colours of a scale. */
const STEPS = 64;

function scale(marks: Mark[], { begin, top, length, width }: Bar): SVGElement[] {
  const colours = Array.from({ length: STEPS }, (_, i) =>
    svg("rect", { x: begin + (i * length) / STEPS, y: top, width: length / STEPS + 0.5, height: 12, fill: viridisCss(i / (STEPS - 1), theme()) }),
  );
  const labels = marks.map(({ at, label }) => ({ at: begin + at * length, width: textWidth(label, FONT), label }));
  return [
    ...colours,
    ...labels.map(({ at }) => svg("path", { d: `M${at},${top + 12}v3`, stroke: "currentColor" })),
    ...withEnds(labels, width).map(({ at, label }) => svg("text", { x: at, y: top + 26, "text-anchor": "middle", fill: "currentColor" }, label)),
  ];
}

/** The labels that fit; the last one is among them. */
function withEnds<L extends Label>(labels: L[], width: number): L[] {
  const [last] = sideBySide(labels.slice(-1), 0, width);
  return [...sideBySide(labels.slice(0, -1), 0, width).filter((label) => label.at + label.width / 2 + APART <= last.at - last.width / 2), last];
}
