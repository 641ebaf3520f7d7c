// Run times that were measured: each run, and medians beside what was predicted.

import { axisX, axisY, dot, gridX, gridY, line, pointer, ruleX, text, tickX, tip } from "@observablehq/plot";
import type { MeasuredWay, Report } from "../data.ts";
import { choice, el } from "../dom.ts";
import { Chart, keys, ticksBelow, type Key } from "../figures/chart.ts";
import { figure } from "../figures/figure.ts";
import { fitted, textWidth } from "../figures/measure.ts";
import { csv } from "../words/csv.ts";
import { count, seconds } from "../words/format.ts";
import { decimalTicks } from "../words/scales.ts";
import type { Section } from "./section.ts";

/** Size of the letters of charts, as the style has it. */
const FONT = 12;

/** Room for half of the last number below a chart. */
const RIGHT = 34;

const FIRST: Key = { name: "first way", colour: "var(--before)", sign: "ring" };
const PLACED: Key = { name: "chosen by place", colour: "var(--after)", sign: "dot" };
const OTHERS: Key = { name: "other ways", colour: "var(--third)", sign: "dot" };

export function runs({ measured }: Report): Section | null {
  if (!measured || measured.length === 0) return null;
  const predicted = measured.filter((way) => way.predicted_s !== null);
  const content = [predicted.length > 1 ? againstPrediction(predicted) : null, eachRun(measured)];
  return { id: "runs", title: "Runs", content: content.filter((one) => one !== null) };
}

function keyOf(way: MeasuredWay): Key {
  return way.is_first ? FIRST : way.is_placed ? PLACED : OTHERS;
}

function nameOf({ program, way }: MeasuredWay): string {
  return program === "" ? way : `${program}, ${way}`;
}

function described(way: MeasuredWay): string {
  const lines = [nameOf(way), `median ${seconds(way.median_s)}, ${seconds(way.low_s)} to ${seconds(way.high_s)}`];
  return [...lines, way.predicted_s === null ? "not predicted" : `predicted ${seconds(way.predicted_s)}`].join("\n");
}

/** Medians over predictions, both logarithmic; on the line both are equal. */
function againstPrediction(ways: MeasuredWay[]): HTMLElement {
  const times = ways.flatMap((way) => [way.predicted_s!, way.low_s, way.high_s]);
  const [least, most] = [Math.min(...times) / 1.1, Math.max(...times) * 1.1];
  const points = ways.map((way) => ({ x: way.predicted_s!, y: way.median_s, low: way.low_s, high: way.high_s, key: keyOf(way), title: described(way) }));
  const used = [FIRST, PLACED, OTHERS].filter((key) => points.some((point) => point.key === key));
  // Where the first way has the same name everywhere, that says more.
  const firsts = [...new Set(ways.filter((way) => way.is_first).map(({ way }) => way))];
  const entries = used.map((key) => (key === FIRST && firsts.length === 1 ? { ...key, name: firsts[0] } : key));
  const of = (key: Key) => points.filter((point) => point.key === key);
  const scale = { type: "log" as const, domain: [least, most], label: null };
  const chart = new Chart("Measured over predicted run times; the table below has the numbers", (width) => {
    const ticks = decimalTicks(least, most);
    const fitting = ticks.filter((_, i) => i % Math.ceil(ticks.length / Math.max(2, Math.floor((width - 90) / 76))) === 0);
    return {
      height: Math.min(460, width),
      marginLeft: 62,
      marginRight: RIGHT,
      marginBottom: 40,
      marginTop: 24,
      x: scale,
      y: scale,
      marks: [
        gridX({ ticks: fitting, stroke: "var(--line)", strokeOpacity: 1 }),
        gridY({ ticks: fitting, stroke: "var(--line)", strokeOpacity: 1 }),
        axisX({ ticks: fitting, tickFormat: seconds, label: "predicted", labelAnchor: "center" }),
        axisY({ ticks: fitting, tickFormat: seconds, label: "measured", labelAnchor: "top" }),
        line([{ at: least }, { at: most }], { x: "at", y: "at", stroke: "currentColor", strokeDasharray: "2 3" }),
        ruleX(points, { x: "x", y1: "low", y2: "high", stroke: (point: (typeof points)[number]) => point.key.colour }),
        dot(of(OTHERS), { x: "x", y: "y", r: 3, fill: OTHERS.colour }),
        dot(of(FIRST), { x: "x", y: "y", r: 4.5, stroke: FIRST.colour, strokeWidth: 2, fill: "var(--surface)" }),
        dot(of(PLACED), { x: "x", y: "y", r: 4.5, fill: PLACED.colour }),
        tip(points, pointer({ x: "x", y: "y", title: "title" })),
      ],
      color: { type: "identity" },
    };
  });
  return figure({
    title: "Predicted and measured",
    caption: "Medians of the measured run times over the predicted ones; the upright lines are 95 % intervals. On the dotted line both are equal; above it the runs took longer than predicted. Both scales are logarithmic.",
    file: "predicted-and-measured",
    content: el("div", {}, keys(entries), chart.element),
    drawing: () => chart.drawing(),
    keys: () => entries,
    csv: () => csv(["program", "way", "predicted (s)", "median (s)", "low (s)", "high (s)"], ways.map((way) => [way.program, way.way, way.predicted_s, way.median_s, way.low_s, way.high_s])),
  });
}

/** All runs of one program. */
function eachRun(measured: MeasuredWay[]): HTMLElement {
  const programs = [...new Set(measured.map(({ program }) => program))];
  let shown = 0;
  const MEDIAN: Key = { name: "median", colour: "var(--after)", sign: "tick" };
  const PREDICTED: Key = { name: "predicted", colour: "var(--counted)", sign: "tick" };
  const RUN: Key = { name: "a run", colour: "var(--before)", sign: "dot" };
  const chart = new Chart("Every run of each way, with medians; the table below has the numbers", (width) => {
    const ways = measured.filter(({ program }) => program === programs[shown]);
    const names = ways.map(({ way }) => way);
    const most = 1.05 * Math.max(...ways.flatMap((way) => [way.predicted_s ?? 0, ...way.seconds]));
    const room = Math.min(width / 3, Math.max(...names.map((name) => textWidth(name, FONT))) + 12);
    const ticks = ticksBelow(most, width - room - RIGHT);
    const each = ways.flatMap((one) => one.seconds.map((value, i) => ({ way: one.way, value, title: `${nameOf(one)}\nrun ${count(i + 1)}: ${seconds(value)}` })));
    return {
      marginLeft: room,
      marginRight: RIGHT,
      height: ways.length * 28 + 50,
      x: { domain: [0, most], label: null },
      y: { type: "band" as const, domain: names, axis: null, padding: 0.2 },
      marks: [
        gridX({ ticks, stroke: "var(--line)", strokeOpacity: 1 }),
        axisX({ ticks, tickFormat: seconds, label: null }),
        dot(each, { x: "value", y: "way", r: 3.5, stroke: RUN.colour, strokeWidth: 1.5, title: "title", tip: true }),
        tickX(ways, { x: "median_s", y: "way", stroke: MEDIAN.colour, strokeWidth: 3 }),
        tickX(ways.filter((way) => way.predicted_s !== null), { x: "predicted_s", y: "way", stroke: PREDICTED.colour, strokeWidth: 3, strokeDasharray: "3 2" }),
        ruleX([0]),
        text(names.map((name) => ({ name, shown: fitted(name, room - 10, FONT) })), { y: "name", text: "shown", frameAnchor: "left", dx: -8, textAnchor: "end", fill: "currentColor" }),
      ],
    };
  });
  const choose = (i: number) => {
    shown = i;
    chart.redraw();
  };
  const entries = measured.some((way) => way.predicted_s !== null) ? [RUN, MEDIAN, PREDICTED] : [RUN, MEDIAN];
  const chosen = programs.length > 1 ? el("div", { class: "choices controls" }, choice("Program:", programs, 0, choose)) : null;
  return figure({
    title: "Every run",
    caption: "Run times of each way. Better: to the left, and close together.",
    file: "runs",
    content: el("div", {}, chosen, keys(entries), chart.element),
    drawing: () => chart.drawing(),
    keys: () => entries,
    csv: () => csv(["program", "way", "run", "seconds"], measured.flatMap((way) => way.seconds.map((value, i) => [way.program, way.way, i + 1, value]))),
  });
}
