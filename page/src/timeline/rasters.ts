// Heat maps over time: devices and ranks, busy or not.

import type { Timeline } from "../data.ts";
import type { Numbers } from "../read/unpack.ts";
import { el } from "../dom.ts";
import { figure } from "../figures/figure.ts";
import { ends, shareLegend } from "../figures/legend.ts";
import { roomFor, type Axis } from "../heat/axes.ts";
import { Heatmap, type Block } from "../heat/heatmap.ts";
import { pyramid } from "../heat/pyramid.ts";
import { csv } from "../words/csv.ts";
import { bytes, percent, seconds, share, tickSeconds } from "../words/format.ts";
import { cellTicks, LEVELS, roundTicks, shareEnd } from "../words/scales.ts";
import { binsOfRun, endInBins } from "./run.ts";

/** Time in bins, as an axis in seconds. */
function timeAxis(bin: number): Axis {
  return {
    title: "time",
    groups: [],
    apart: 56,
    ticks: (low, high, wanted) => {
      const written = tickSeconds(high * bin);
      return roundTicks(low * bin, high * bin, wanted).map((at) => ({ at: at / bin, label: written(at) }));
    },
  };
}

function spanOf({ column, across }: Block, bin: number, end: number): string {
  return `${seconds(column * bin)} to ${seconds(Math.min(end, column + across) * bin)}`;
}

/** Letters of a device that are written beside its row. */
const LONGEST = 16;

/** Height of a row with a label in pixels. */
const ROW = 14;

/** Height of a raster in pixels. */
function heightFor(rows: number): number {
  return Math.min(512, Math.max(96, rows * ROW));
}

/** From a share to a level of a scale that ends at a share: nothing is level 0. */
function level(part: number, end: number): number {
  return part > 0 ? 1 + Math.round(Math.min(1, part / end) * (LEVELS - 1)) : 0;
}

/** Both ends of a scale for saved pictures. */
function endsOf(end: number) {
  return ends("hardly", end < 1 ? `${percent(end)} of the bin` : "all of the bin");
}

export function deviceRaster(timeline: Timeline, direction: "out" | "in"): HTMLElement | null {
  const { devices, bin_s: bin } = timeline;
  const list = (i: number) => (direction === "out" ? devices[i].bytes_out : devices[i].bytes_in);
  const written = Math.max(0, ...devices.map((_, i) => list(i).length));
  const end = endInBins(timeline, written);
  const columns = binsOfRun(timeline, written);
  // The answer says that the network is not used.
  if (!devices.some((_, i) => list(i).some((value) => value > 0))) return null;
  const name = (i: number) => `${devices[i].node} ${devices[i].device}`;
  // Sending and receiving have the same scale.
  const most = shareEnd(devices.flatMap((device) => [...device.bytes_out.slice(0, columns), ...device.bytes_in.slice(0, columns)].map((value) => value / (device.bandwidth * bin))));
  const cells = new Uint8Array(columns * devices.length);
  devices.forEach((device, row) => list(row).slice(0, columns).forEach((value, column) => (cells[row * columns + column] = level(value / (device.bandwidth * bin), most))));
  const [verb, title] = direction === "out" ? ["sends", "Sending of each device"] : ["receives", "Receiving of each device"];
  const map = new Heatmap({
    label: `${title} over time, share of its bandwidth`,
    layers: pyramid(columns, devices.length, cells, "columns"),
    columns: timeAxis(bin),
    rows: { title: "device", groups: [], apart: ROW, ticks: (low, high, wanted) => cellTicks(Math.floor(low), high, wanted).map((at) => ({ at: at + 0.5, label: shortened(name(at)) })) },
    height: heightFor(devices.length),
    labels: roomFor(devices.map((_, i) => shortened(name(i)))),
    end,
    describe: (block) => {
      const part = list(block.row).slice(block.column, Math.min(columns, block.column + block.across));
      const sum = part.reduce((a, b) => a + b, 0);
      return [`${name(block.row)} ${verb}`, spanOf(block, bin, end), `${bytes(sum)}, ${share(sum / (devices[block.row].bandwidth * bin * part.length))} of its bandwidth`];
    },
  });
  return figure({
    title,
    caption: `Rows are network devices; the colour is the share of the bandwidth in each ${seconds(bin)}. Full stripes are where messages wait.`,
    file: `timeline-${direction}`,
    content: el("div", {}, shareLegend("share of a bin", most), map.element),
    drawing: () => map.drawing(),
    keys: () => endsOf(most),
    csv: () => csv(["device", "begin (s)", "bytes"], devices.flatMap((_, i) => list(i).map((value, at) => [name(i), at * bin, value]))),
  });
}

export function busyRaster(timeline: Timeline, busy: Numbers): HTMLElement | null {
  const { busy_rows: rows, bin_s: bin } = timeline;
  const written = rows > 0 ? busy.length / rows : 0;
  if (written < 1 || busy.every((value) => value === 0)) return null;
  const one = timeline.rows_are === "ranks" ? "rank" : "node";
  const end = endInBins(timeline, written);
  const columns = binsOfRun(timeline, written);
  const shown = Array.from({ length: rows * columns }, (_, i) => busy[Math.floor(i / columns) * written + (i % columns)]);
  const most = shareEnd(shown.map((value) => value / 255));
  const map = new Heatmap({
    label: `Share of time in which each ${one} has a message under way`,
    layers: pyramid(columns, rows, Uint8Array.from(shown, (value) => level(value / 255, most)), "columns"),
    columns: timeAxis(bin),
    rows: { title: one, groups: [], apart: ROW, ticks: (low, high, wanted) => cellTicks(Math.floor(low), high, wanted).map((at) => ({ at: at + 0.5, label: String(at) })) },
    height: heightFor(rows),
    end,
    describe: (block) => {
      const start = block.row * columns + block.column;
      const part = shown.slice(start, start + Math.min(block.across, columns - block.column));
      const mean = part.reduce((a, b) => a + b, 0) / part.length / 255;
      return [`${one} ${block.row}`, spanOf(block, bin, end), `${share(mean)} of the time with messages under way`];
    },
  });
  return figure({
    title: `When each ${one} communicates`,
    caption: `Rows are ${one}s; the colour is the share of each ${seconds(bin)} with messages under way. Upright stripes are phases that all share.`,
    file: "timeline-busy",
    content: el("div", {}, shareLegend("share of a bin", most), map.element),
    drawing: () => map.drawing(),
    keys: () => endsOf(most),
    csv: () => csv([one, "begin (s)", "busy (share)"], Array.from(busy, (value, i) => [Math.floor(i / written), (i % written) * bin, value / 255])),
  });
}

function shortened(name: string): string {
  return name.length <= LONGEST ? name : `…${name.slice(1 - LONGEST)}`;
}
