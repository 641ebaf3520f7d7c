// Large machines: as many nodes per page as can be drawn and read at once. A node with too many cores for a page is
// divided into its NUMA nodes.

import type { Machine } from "../data.ts";
import type { Placed } from "../read/open.ts";
import { count } from "../words/format.ts";
import { numasOf, type NumaPart } from "./layout.ts";
import type { Inhabitants } from "./ranks.ts";

/** Cores, and ranks that are bound to none, that are drawn at once. */
const CORES = 1024;
const SITES = 48;

/** What stays together on a page: a node, or of a node that is divided a NUMA node or ranks bound to no core. */
interface Site extends Part {
  /** Cores and unbound ranks. */
  weight: number;
}

/** A node, or what a page shows of it. */
export interface Part {
  node: number;
  /** Whether it is all of the node. */
  whole: boolean;
  numas: NumaPart[];
  /** Ranks that are bound to no core. */
  loose: number[];
}

/** The sites of a machine, and the pages that have them in turn. */
export class Pages {
  /** By rank: its site, that of its first core. */
  readonly siteOf: Uint32Array;
  /** By site: its page. */
  readonly pageOf: number[] = [];
  private readonly sites: Site[] = [];
  /** By page: its first site; at the end the number of sites. */
  private readonly begins: number[] = [];
  /** By node type that is divided: the site of each core, counted within the node. */
  private readonly ofCore = new Map<number, Map<number, number>>();

  constructor(
    private readonly machine: Machine,
    inhabitants: Inhabitants[],
    placed: Placed | null,
  ) {
    const first: number[] = [];
    machine.nodes.forEach((_, node) => {
      first.push(this.sites.length);
      this.sites.push(...this.sitesOf(node, inhabitants[node]?.loose ?? []));
    });
    let [weight, number] = [Infinity, 0];
    this.sites.forEach((site, at) => {
      if (weight + site.weight > CORES || number === SITES) {
        this.begins.push(at);
        [weight, number] = [0, 0];
      }
      weight += site.weight;
      number += 1;
      this.pageOf.push(this.begins.length - 1);
    });
    this.begins.push(this.sites.length);
    this.siteOf = Uint32Array.from(placed?.node ?? [], (node, rank) => {
      if (this.sites[first[node]].whole) return first[node];
      return first[node] + (this.ofCore.get(machine.nodes[node].type)?.get(placed!.core[rank]) ?? 0);
    });
    this.sites.forEach(({ loose }, site) => loose.forEach((rank) => (this.siteOf[rank] = site)));
  }

  private sitesOf(node: number, loose: number[]): Site[] {
    const type = this.machine.nodes[node].type;
    const { cores } = this.machine.types[type];
    const numas = numasOf(this.machine.types[type]);
    if (cores <= CORES && loose.length <= CORES) return [{ node, whole: true, numas, loose, weight: cores + loose.length }];
    const pieces = numas.flatMap((numa) => pieced(numa.cores).map((cores) => ({ ...numa, cores })));
    if (!this.ofCore.has(type)) {
      this.ofCore.set(type, new Map(pieces.flatMap((numa, site) => numa.cores.map((core) => [core, site] as const))));
    }
    return [
      ...pieces.map((numa) => ({ node, whole: false, numas: [numa], loose: [], weight: numa.cores.length })),
      ...(loose.length > 0 ? pieced(loose) : []).map((loose) => ({ node, whole: false, numas: [], loose, weight: loose.length })),
    ];
  }

  /** Number of pages. */
  get count(): number {
    return this.begins.length - 1;
  }

  /** Number of sites. */
  get siteCount(): number {
    return this.sites.length;
  }

  /** Whether a node is divided. */
  get divided(): boolean {
    return this.sites.some((site) => !site.whole);
  }

  /** The first site of a page, and the one behind its last. */
  range(page: number): [number, number] {
    return [this.begins[page], this.begins[page + 1]];
  }

  /** What a page shows: the sites of one node together. */
  parts(page: number): Part[] {
    const parts: Part[] = [];
    for (const { node, whole, numas, loose } of this.sites.slice(...this.range(page))) {
      const last = parts[parts.length - 1];
      if (last?.node === node) {
        last.numas.push(...numas);
        last.loose.push(...loose);
      } else parts.push({ node, whole, numas: [...numas], loose: [...loose] });
    }
    return parts;
  }

  /** Such as "nodes 17 to 32". */
  name(page: number): string {
    const [from, to] = this.range(page);
    const what = this.divided ? "part" : "node";
    return to === from + 1 ? `${what} ${count(to)}` : `${what}s ${count(from + 1)} to ${count(to)}`;
  }
}

/** A list in pieces that fit on a page; one piece for an empty list. */
function pieced(list: number[]): number[][] {
  const pieces = Array.from({ length: Math.max(1, Math.ceil(list.length / CORES)) }, (_, i) => i);
  return pieces.map((i) => list.slice(i * CORES, (i + 1) * CORES));
}
