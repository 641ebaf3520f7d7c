// Bytes of each network device, in and out, before and after, and what it counted.

import { barX, gridX, ruleX, text, tickX, axisX } from "@observablehq/plot";
import type { DeviceLoad, Report } from "../data.ts";
import { choice, el, words } from "../dom.ts";
import { Chart, keys, ticksBelow, type Key } from "../figures/chart.ts";
import { figure } from "../figures/figure.ts";
import { table, type Column } from "../figures/table.ts";
import { fitted, textWidth } from "../figures/measure.ts";
import { csv, type Cell } from "../words/csv.ts";
import { bytes, count, exactBytes } from "../words/format.ts";
import { lacks, type Section } from "./section.ts";

type Direction = "out" | "in";

const WORDS: Record<Direction, [string, string]> = {
  out: ["Sent by each network device", "sent"],
  in: ["Received by each network device", "received"],
};

/** Size of the letters of charts, as the style has it. */
const FONT = 12;

/** Room for half of the last number below a chart. */
const RIGHT = 30;

/** Devices in one chart. */
const SHOWN = 16;
const COLOURS = ["var(--before)", "var(--after)", "var(--third)", "var(--fourth)"];

export function devices(report: Report): Section | null {
  const notes = lacks(report, "devices");
  const loads = report.devices ?? [];
  if (loads.length === 0) return notes.length > 0 ? { id: "devices", title: "Network devices", content: notes } : null;
  const panel = new Devices(report, loads);
  return { id: "devices", title: "Network devices", content: [...panel.content(), ...notes] };
}

interface Bar {
  device: string;
  series: number;
  value: number;
  title: string;
}

class Devices {
  private readonly names: string[];
  /** Placements with a bar: the default and the best, or what there is, four at most. */
  private readonly series: number[];
  private readonly counted: boolean;
  private sorted = 0;
  private page = 0;
  private readonly charts: Chart[] = [];

  constructor(
    private readonly report: Report,
    private readonly loads: DeviceLoad[],
  ) {
    this.names = (report.placements ?? []).map(({ name }) => name);
    const all = loads[0].out.map((_, i) => i);
    const roles = all.filter((i) => ["default", "best"].includes(report.placements?.[i]?.role ?? ""));
    this.series = (roles.length > 1 ? roles : all).slice(0, COLOURS.length);
    this.counted = loads.some((load) => (load.counted_out ?? load.counted_in ?? null) !== null);
  }

  private device({ node, nic }: DeviceLoad): string {
    const name = this.report.machine?.nodes[node]?.name ?? `node ${node}`;
    return nic === null ? name : `${name} ${nic}`;
  }

  private get ordered(): DeviceLoad[] {
    if (this.sorted === 0) return this.loads;
    const series = this.series[this.sorted - 1];
    const load = (one: DeviceLoad) => Math.max(one.out[series] ?? 0, one.in[series] ?? 0);
    return [...this.loads].sort((a, b) => load(b) - load(a));
  }

  private bars(direction: Direction, shown: DeviceLoad[]): Bar[] {
    return shown.flatMap((load) =>
      this.series.map((series) => {
        const value = load[direction][series] ?? 0;
        const device = this.device(load);
        return { device, series, value, title: `${device}, ${this.names[series] ?? "predicted"}\n${WORDS[direction][1]} ${exactBytes(value)}` };
      }),
    );
  }

  private chart(direction: Direction): Chart {
    const largest = this.loads.reduce((most, load) => Math.max(most, ...this.series.map((i) => load[direction][i] ?? 0), countedOf(load, direction) ?? 0), 1);
    return new Chart(`${WORDS[direction][0]}, as bars; the table below has the numbers`, (width) => {
      const shown = this.ordered.slice(this.page * SHOWN, (this.page + 1) * SHOWN);
      const devices = shown.map((load) => this.device(load));
      const marks = shown.flatMap((load) => {
        const value = countedOf(load, direction);
        const device = this.device(load);
        return value === null ? [] : [{ device, value, title: `${device}, counted\n${exactBytes(value)}` }];
      });
      const longest = Math.max(...devices.map((name) => textWidth(name, FONT)));
      const room = Math.min(width / 3, longest + 12);
      const high = 12 * this.series.length + 8;
      const ticks = ticksBelow(largest, width - room - RIGHT);
      return {
        marginLeft: room,
        marginRight: RIGHT,
        height: shown.length * high + 50,
        x: { domain: [0, largest], label: null },
        y: { axis: null, domain: this.series },
        fy: { axis: null, domain: devices, padding: 0.18 },
        marks: [
          gridX({ ticks, stroke: "var(--line)", strokeOpacity: 1 }),
          axisX({ ticks, tickFormat: bytes, label: null }),
          barX(this.bars(direction, shown), { x: "value", y: "series", fy: "device", fill: (bar: Bar) => COLOURS[this.series.indexOf(bar.series)], title: "title", tip: true }),
          tickX(marks, { x: "value", fy: "device", stroke: "var(--counted)", strokeWidth: 3, title: "title", tip: true }),
          ruleX([0]),
          text(devices.map((name) => ({ name, shown: fitted(name, room - 10, FONT) })), { fy: "name", text: "shown", frameAnchor: "left", dx: -8, textAnchor: "end", fill: "currentColor" }),
        ],
        color: { type: "identity" },
      };
    });
  }

  private figure(direction: Direction): HTMLElement {
    const chart = this.chart(direction);
    this.charts.push(chart);
    const entries: Key[] = [
      ...this.series.map((i, at) => ({ name: this.names[i] ?? "predicted", colour: COLOURS[at], sign: "bar" as const })),
      ...(this.counted ? [{ name: "counted by the device", colour: "var(--counted)", sign: "tick" as const }] : []),
    ];
    const counted = this.counted ? " The upright line is what the device counted while the program ran." : "";
    return figure({
      title: WORDS[direction][0],
      caption: `Bytes ${WORDS[direction][1]}, predicted from the traffic${this.series.length > 1 ? ": one bar per placement" : ""}.${counted} Better: short bars of equal length.`,
      file: `devices-${direction}`,
      content: el("div", {}, keys(entries), chart.element),
      drawing: () => chart.drawing(),
      keys: () => entries,
      csv: () => csv(this.columns().map(({ name }) => name), this.loads.map((load) => this.columns().map((column) => column.value(load)))),
    });
  }

  private columns(): Column<DeviceLoad>[] {
    const placements = this.loads[0].out.map((_, i) => this.names[i] ?? "predicted");
    const number = (name: string, value: (load: DeviceLoad) => Cell): Column<DeviceLoad> => ({
      name,
      numeric: true,
      value,
      show: (load) => (typeof value(load) === "number" ? bytes(value(load) as number) : ""),
    });
    return [
      { name: "Device", value: (load) => this.device(load) },
      ...placements.flatMap((name, i) => [
        number(`Out, ${name}`, (load) => load.out[i]),
        number(`In, ${name}`, (load) => load.in[i]),
      ]),
      ...(this.counted ? [number("Out, counted", (load) => load.counted_out), number("In, counted", (load) => load.counted_in)] : []),
      ...(this.loads.some((load) => load.counted_note) ? [{ name: "Note", value: (load: DeviceLoad) => load.counted_note, show: (load: DeviceLoad) => words(load.counted_note ?? "") }] : []),
    ];
  }

  private controls(): HTMLElement {
    const redraw = () => this.charts.forEach((chart) => chart.redraw());
    const orders = ["order of nodes", ...this.series.map((i) => `most bytes first, ${this.names[i] ?? "predicted"}`)];
    const sort = (i: number) => {
      [this.sorted, this.page] = [i, 0];
      redraw();
    };
    const turn = (i: number) => {
      this.page = i;
      redraw();
    };
    const pages = Array.from({ length: Math.ceil(this.loads.length / SHOWN) }, (_, i) => `${i * SHOWN + 1} to ${Math.min(this.loads.length, (i + 1) * SHOWN)}`);
    return el(
      "div",
      { class: "choices controls" },
      choice("Order:", orders, 0, sort),
      pages.length > 1 ? choice(`Devices of ${count(this.loads.length)}:`, pages, 0, turn) : null,
    );
  }

  content(): Node[] {
    if (!this.counted && this.loads.every((load) => [...load.out, ...load.in].every((value) => value === 0))) {
      return [el("p", {}, "No bytes pass the network devices: all messages stay inside nodes.")];
    }
    const busiest = this.series.map((i) => {
      const most = this.loads.reduce((best, load) => (load.out[i] + load.in[i] > best.out[i] + best.in[i] ? load : best));
      return `${this.names[i] ?? "predicted"}: ${this.device(most)} (${bytes(most.out[i])} out, ${bytes(most.in[i])} in)`;
    });
    return [
      el("p", {}, `Device with the most bytes, ${busiest.join("; ")}.`),
      this.controls(),
      el("div", { class: "pair" }, this.figure("out"), this.figure("in")),
      table({ caption: "Bytes of the network devices", columns: this.columns(), rows: this.loads, sortable: true, file: "devices", first: SHOWN }),
    ];
  }
}

function countedOf(load: DeviceLoad, direction: Direction): number | null {
  return (direction === "out" ? load.counted_out : load.counted_in) ?? null;
}
