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
  /** Where cores of a rank do not follow each other: those of rank r are at first[r] .. first[r + 1]. */
  listed: { core: Numbers; first: Uint32Array } | null;
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
  const [node, core, cores, position, listed] = await Promise.all([
    list("node", view.node),
    list("core", view.core),
    list("cores", view.cores),
    list("position", view.position),
    view.core_list ? list("core_list", view.core_list) : null,
  ]);
  if (!listed) return { view, node, core, cores, listed, position };
  const first = new Uint32Array(cores.length + 1);
  for (let rank = 0; rank < cores.length; rank++) first[rank + 1] = first[rank] + cores[rank];
  const expected = first[cores.length];
  if (listed.length !== expected) {
    throw new Error(`placements[${index}].core_list: it holds ${listed.length} cores, expected ${expected} as in cores`);
  }
  return { view, node, core, cores, listed: { core: listed, first }, position };
}

/** The cores of a rank, L#, ascending; none if it is not bound. */
export function coresOf({ core, cores, listed }: Placed, rank: number): number[] {
  if (core[rank] === UNBOUND) return [];
  if (listed) return Array.from(listed.core.subarray(listed.first[rank], listed.first[rank + 1]));
  return Array.from({ length: Math.max(1, cores[rank]) }, (_, i) => core[rank] + i);
}

/** Core of a rank that is not bound. */
export const UNBOUND = 65535;

/** By position in the order of places: the rank. */
export function rankAt(placed: Placed): Uint32Array {
  const ranks = new Uint32Array(placed.position.length);
  for (let rank = 0; rank < ranks.length; rank++) ranks[placed.position[rank]] = rank;
  return ranks;
}
