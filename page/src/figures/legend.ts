// The legend of a colour scale.

import { el, onWidth, svg } from "../dom.ts";
import { onTheme, theme } from "../theme.ts";
import { viridisCss } from "../words/colours.ts";
import type { Key } from "./chart.ts";
import { percent } from "../words/format.ts";
import { logTicks } from "../words/scales.ts";

const HEIGHT = 34;

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
  const begin = Math.ceil(title.length * 6.6) + 24;
  const length = width - begin - 30;
  const steps = marks.length > 1 ? 64 : 0;
  const one = [
    svg("rect", { x: begin, y: 2, width: ONE, height: 12, fill: viridisCss(1, theme()) }),
    svg("text", { x: begin + ONE + 6, y: 12, fill: "currentColor" }, marks[0].label),
  ];
  const cells = Array.from({ length: steps }, (_, i) =>
    svg("rect", { x: begin + (i * length) / steps, y: 2, width: length / steps + 0.5, height: 12, fill: viridisCss(i / (steps - 1), theme()) }),
  );
  const ticks = marks.map(({ at, label }) =>
    svg("text", { x: begin + at * length, y: 28, "text-anchor": "middle", fill: "currentColor" }, label),
  );
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, "font-size": 11, "aria-hidden": "true" },
    svg("text", { x: 0, y: 12, fill: "currentColor" }, title),
    ...(steps > 0 ? [...cells, ...ticks] : one),
  );
}
