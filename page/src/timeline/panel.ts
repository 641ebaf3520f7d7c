// The time line: when the network is used.

import type { Timeline } from "../data.ts";
import { el, prose } from "../dom.ts";
import type { Opened } from "../read/open.ts";
import { lacks, says, type Section } from "../panels/section.ts";
import { seconds, share } from "../words/format.ts";
import { counted, senders, windows } from "./charts.ts";
import { busyRaster, deviceRaster } from "./rasters.ts";
import { sendsUntil } from "./run.ts";

const SOURCES: Record<Timeline["times_from"], string> = {
  mpi: "from calls of MPI",
  transport: "from what went over connections",
  device: "from counters of the devices",
  replay: "as a replay of the calls predicts them",
};

export function timeline({ report, busy }: Opened): Section | null {
  const notes = lacks(report, "timeline");
  const { timeline: data } = report;
  if (!data) return notes.length > 0 ? { id: "timeline", title: "Time line", content: notes } : null;
  const times = `Times are ${SOURCES[data.times_from]}, over ${seconds(data.span_s)}.`;
  const use =
    ` In ${share(data.used)} of the run some device sends or receives. ` +
    `A device sends in ${share(data.utilisation)} of the run, on average over the devices; in ${share(data.overlap)} of the time in which a device sends, several ranks do so at once.`;
  const until = sendsUntil(data, busy);
  const late = until === null ? [] : [el("p", {}, lateSends(until))];
  const figures = [
    deviceRaster(data, "out"),
    deviceRaster(data, "in"),
    busy && busyRaster(data, busy),
    windows(data),
    senders(data),
    counted(data),
  ].filter((one) => one !== null);
  return {
    id: "timeline",
    title: "Time line",
    content: [
      ...(data.answer && !says(report.verdict, data.answer) ? [el("p", {}, ...prose(data.answer))] : []),
      el("p", {}, times, data.used > 0 ? use : ""),
      ...late,
      el("div", { class: "pair" }, ...figures),
      ...notes,
    ],
  };
}

function lateSends(until: number): string {
  return (
    `With the bandwidths that were taken, devices would send until ${seconds(until)} at least, after the end of the run: the run had a faster way (ranks on one host), or these bandwidths are too low. ` +
    "The figures end with the run; the CSV files have the rest."
  );
}
