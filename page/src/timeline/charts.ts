// Charts over time: metrics of windows, senders at once, computed and counted bytes.

import { axisX, axisY, barY, gridY, line, pointerX, ruleX, ruleY, tip } from "@observablehq/plot";
import type { Timeline } from "../data.ts";
import { choice, el } from "../dom.ts";
import { Chart, keys, ticksBelow, type Key } from "../figures/chart.ts";
import { figure } from "../figures/figure.ts";
import { table } from "../figures/table.ts";
import { csv } from "../words/csv.ts";
import { bytes, count, seconds, share, tickSeconds } from "../words/format.ts";
import { binsOfRun } from "./run.ts";

type Window = Timeline["windows"][number];

const METRICS: { name: string; of: (window: Window) => number | null; colour: string; sign: "line" | "dashed" | "dotted"; dash: string }[] = [
  { name: "load balance", of: (window) => window.load_balance, colour: "var(--after)", sign: "line", dash: "none" },
  { name: "serialisation", of: (window) => window.serialisation, colour: "var(--counted)", sign: "dashed", dash: "7 4" },
  { name: "transfer", of: (window) => window.transfer, colour: "var(--third)", sign: "dotted", dash: "2 3" },
];

export function windows({ windows }: Timeline): HTMLElement | null {
  const used = METRICS.filter(({ of }) => windows.some((window) => of(window) !== null));
  if (used.length === 0) return null;
  const end = windows[windows.length - 1].end_s;
  const steps = (of: (window: Window) => number | null) =>
    windows.flatMap((window) => [window.begin_s, window.end_s].map((at) => ({ at, value: of(window) ?? NaN })));
  const described = windows.map((window) => ({
    at: (window.begin_s + window.end_s) / 2,
    value: Math.max(...used.map(({ of }) => of(window) ?? 0)),
    title: [`${seconds(window.begin_s)} to ${seconds(window.end_s)}`, ...used.map(({ name, of }) => `${name}: ${percent(of(window))}`)].join("\n"),
  }));
  const chart = new Chart("Load balance, serialisation and transfer by window; the table below has the numbers", (width) => ({
    height: 220,
    marginLeft: 46,
    marginRight: 16,
    x: { domain: [0, end], label: null },
    y: { domain: [0, 1], label: null },
    marks: [
      gridY({ stroke: "var(--line)", strokeOpacity: 1 }),
      axisY({ ticks: 5, tickFormat: share, label: null }),
      axisX({ ticks: ticksBelow(end, width - 62), tickFormat: tickSeconds(end), label: null }),
      ...used.map(({ of, colour, dash }) => line(steps(of), { x: "at", y: "value", stroke: colour, strokeWidth: 2, strokeDasharray: dash })),
      ruleX(described, pointerX({ x: "at", stroke: "currentColor", strokeOpacity: 0.4 })),
      tip(described, pointerX({ x: "at", y: "value", title: "title" })),
      ruleY([0]),
    ],
  }));
  return figure({
    title: "Efficiency by window",
    caption: "Load balance: mean computing time over the longest. Serialisation: what remains when ranks wait for each other. Transfer: what remains after the network took its time. 100 % is ideal.",
    file: "timeline-windows",
    content: el("div", {}, keys(used), chart.element),
    drawing: () => chart.drawing(),
    keys: () => used,
    csv: () => csv(["begin (s)", "end (s)", "load balance", "serialisation", "transfer"], windows.map((w) => [w.begin_s, w.end_s, w.load_balance, w.serialisation, w.transfer])),
    table: () =>
      table({
        caption: "Efficiency by window",
        rows: windows,
        columns: [
          { name: "Window", value: (window) => `${seconds(window.begin_s)} to ${seconds(window.end_s)}` },
          ...used.map(({ name, of }) => ({ name, numeric: true, value: of, show: (window: Window) => percent(of(window)) })),
        ],
      }),
  });
}

function percent(value: number | null): string {
  return value === null ? "not known" : share(value);
}

export function senders({ by_senders }: Timeline): HTMLElement | null {
  const last = by_senders.reduce((at, value, i) => (value > 0 ? i : at), 0);
  if (last === 0) return null;
  const rows = by_senders.slice(1, last + 1).map((value, i) => ({ senders: i + 1, value, title: `${count(i + 1)} at once\n${seconds(value)}` }));
  const chart = new Chart("Time with one, two and more senders at one device; the table below has the numbers", () => ({
    height: 200,
    marginLeft: 56,
    x: { type: "band", label: null, ticks: rows.length > 24 ? rows.filter((_, i) => i % Math.ceil(rows.length / 16) === 0).map(({ senders: k }) => k) : undefined },
    y: { label: null },
    marks: [
      gridY({ stroke: "var(--line)", strokeOpacity: 1 }),
      axisY({ ticks: 4, tickFormat: tickSeconds(Math.max(...by_senders)), label: null }),
      barY(rows, { x: "senders", y: "value", fill: "var(--after)", title: "title", tip: true }),
      ruleY([0]),
    ],
  }));
  return figure({
    title: "Senders at once",
    caption: "Time, summed over all devices, in which that number of ranks send through the same device. More than one share its bandwidth.",
    file: "timeline-senders",
    content: chart.element,
    drawing: () => chart.drawing(),
    csv: () => csv(["senders", "seconds"], by_senders.map((value, i) => [i, value])),
    table: () =>
      table({
        caption: "Senders at once",
        rows,
        columns: [
          { name: "Senders", numeric: true, value: (row) => row.senders },
          { name: "Time", numeric: true, value: (row) => row.value, show: (row) => seconds(row.value) },
        ],
      }),
  });
}

/** Bytes of one device over time, computed and counted. */
export function counted(timeline: Timeline): HTMLElement | null {
  const { counted: all, devices, bin_s: bin, span_s: span } = timeline;
  if (all.length === 0) return null;
  let shown = 0;
  const computed = (i: number) => devices.find((one) => one.node === all[i].node && one.device === all[i].device)?.bytes_out ?? [];
  const bins = binsOfRun(timeline, Math.max(...all.map(({ bytes_out }) => bytes_out.length)));
  // Each bin from its begin to its end, so that the lines end with the run.
  const points = (values: number[]) =>
    values.slice(0, bins).flatMap((value, i) => [i * bin, Math.min(span, (i + 1) * bin)].map((at) => ({ at, value })));
  const chart = new Chart("Bytes that one device sent over time, computed and counted", (width) => ({
    height: 220,
    marginLeft: 66,
    x: { domain: [0, span], label: null },
    y: { label: null },
    marks: [
      gridY({ stroke: "var(--line)", strokeOpacity: 1 }),
      axisY({ ticks: 4, tickFormat: bytes, label: null }),
      axisX({ ticks: ticksBelow(span, width - 86), tickFormat: tickSeconds(span), label: null }),
      line(points(computed(shown)), { x: "at", y: "value", stroke: "var(--after)", strokeWidth: 2 }),
      line(points(all[shown].bytes_out), { x: "at", y: "value", stroke: "var(--counted)", strokeWidth: 2, strokeDasharray: "7 4" }),
      ruleY([0]),
    ],
  }));
  const names = all.map(({ node, device }) => `${node} ${device}`);
  const choose = (i: number) => {
    shown = i;
    chart.redraw();
  };
  const entries: Key[] = [
    { name: "computed from messages", colour: "var(--after)", sign: "line" },
    { name: "counted by the device", colour: "var(--counted)", sign: "dashed" },
  ];
  return figure({
    title: "Computed and counted",
    caption: `Bytes sent in each ${seconds(bin)}. Where the lines differ, something else used the device or messages are missing.`,
    file: "timeline-counted",
    content: el("div", {}, el("div", { class: "choices controls" }, choice("Device:", names, 0, choose)), keys(entries), chart.element),
    drawing: () => chart.drawing(),
    keys: () => [{ name: names[shown], colour: "none", sign: "bar" }, ...entries],
    csv: () => csv(["device", "begin (s)", "computed out", "counted out", "counted in"], all.flatMap(({ bytes_out, bytes_in }, i) => bytes_out.map((value, at) => [names[i], at * bin, computed(i)[at], value, bytes_in[at]]))),
  });
}
