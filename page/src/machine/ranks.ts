// Which ranks are in which node and on which core.

import type { Job } from "../data.ts";
import { coresOf, type Placed } from "../read/open.ts";

/** The ranks of one node. */
export interface Inhabitants {
  /** By core, L#: the ranks whose first core it is. */
  onCore: Map<number, number[]>;
  /** Cores that a rank has besides its first. */
  alsoOf: Map<number, number>;
  /** Ranks bound to no core. */
  loose: number[];
}

/** Per node of the machine. */
export function inhabitants(placed: Placed, nodes: number): Inhabitants[] {
  const all = Array.from({ length: nodes }, () => ({
    onCore: new Map<number, number[]>(),
    alsoOf: new Map<number, number>(),
    loose: [] as number[],
  }));
  for (let rank = 0; rank < placed.node.length; rank++) {
    const here = all[placed.node[rank]];
    if (!here) continue;
    const [core, ...further] = coresOf(placed, rank);
    if (core === undefined) {
      here.loose.push(rank);
      continue;
    }
    here.onCore.set(core, [...(here.onCore.get(core) ?? []), rank]);
    for (const one of further) here.alsoOf.set(one, rank);
  }
  return all;
}

/** The job of a rank, as an index. */
export function jobOf(rank: number, jobs: Job[]): number {
  return jobs.findIndex((job) => rank >= job.first_rank && rank < job.first_rank + job.ranks);
}
