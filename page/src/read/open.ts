// The report with its packed lists unpacked and indexed.

import type { Packed, PlacementView, Report } from "../data.ts";
import { Pairs } from "./pairs.ts";
import { unpack, type Numbers } from "./unpack.ts";

/** A placement. Its lists have an entry per rank, or none if there is nothing to draw. */
export interface Placed {
  view: PlacementView;
  node: Numbers;
  core: Numbers;
  cores: Numbers;
  position: Numbers;
}

export interface Opened {
  report: Report;
  pairs: Pairs | null;
  placements: Placed[];
  /** Row by rank or node, column by bin: share of the bin, 255 is all of it. */
  busy: Numbers | null;
}

/** Reads the report from the JSON of the page. */
export function parse(text: string): Report {
  if (text.trim() === "" || text.startsWith("__")) {
    throw new Error("This page has no data: `rankwright report` fills it.");
  }
  const report = JSON.parse(text) as Report;
  if (report.version !== 1) {
    throw new Error(`The data has version ${String(report.version)}, and this page reads version 1: write the report again.`);
  }
  return report;
}

/** Unpacks all lists. An error names the list. */
export async function open(report: Report): Promise<Opened> {
  const { traffic, timeline } = report;
  const [pairs, busy, ...placements] = await Promise.all([
    traffic ? Pairs.open(traffic) : null,
    timeline && timeline.busy.length > 0 ? unpack(timeline.busy, "timeline.busy") : null,
    ...(report.placements ?? []).map(openPlacement),
  ] as const);
  return { report, pairs, busy, placements };
}

async function openPlacement(view: PlacementView, index: number): Promise<Placed> {
  const list = (name: string, packed: Packed) => unpack(packed, `placements[${index}].${name}`);
  const [node, core, cores, position] = await Promise.all([
    list("node", view.node),
    list("core", view.core),
    list("cores", view.cores),
    list("position", view.position),
  ]);
  return { view, node, core, cores, position };
}

/** Core of a rank that is not bound. */
export const UNBOUND = 65535;

/** By position in the order of places: the rank. */
export function rankAt(placed: Placed): Uint32Array {
  const ranks = new Uint32Array(placed.position.length);
  for (let rank = 0; rank < ranks.length; rank++) ranks[placed.position[rank]] = rank;
  return ranks;
}
