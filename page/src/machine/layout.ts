// Where the boxes of nodes, NUMA nodes, cores and devices are drawn.

import type { Device, NodeType, NumaNode } from "../data.ts";
import { bytes } from "../words/format.ts";

export const CELL = 23;
const GAP = 8;
const HEAD = 20;
const CHIP = 18;
/** Room for the index and the memory of a NUMA node. */
const LABEL = 108;

export interface CoreBox {
  core: number;
  x: number;
  y: number;
}

/** The cores of a NUMA node in one package. */
export interface NumaPart extends NumaNode {
  /** Its package, if the NUMA node spans several. */
  package: number | null;
}

export interface NumaBox {
  label: string;
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Chip {
  device: Device;
  kind: "NIC" | "GPU";
  x: number;
  y: number;
  width: number;
}

/** A node's drawing, from its upper left corner. */
export interface NodeBox {
  width: number;
  height: number;
  numas: NumaBox[];
  cores: CoreBox[];
  chips: Chip[];
  /** Where ranks that are bound to no core are listed. */
  loose: { x: number; y: number; columns: number };
}

/** Cores of a row: NUMA nodes are about squares, and at least as wide as their label. */
function perRow(cores: number, room: number): number {
  const wanted = Math.max(4, Math.ceil(Math.sqrt(cores)));
  return Math.max(1, Math.min(cores, wanted, Math.floor((room - 4 * GAP) / CELL)));
}

/** The NUMA nodes of a node. One that spans packages is listed in each of them, with the cores there. */
export function numasOf({ packages }: NodeType): NumaPart[] {
  const spans = (index: number) => packages.filter(({ numa }) => numa.some((one) => one.index === index)).length > 1;
  return packages.flatMap(({ numa }, at) => numa.map((one) => ({ ...one, package: spans(one.index) ? at : null })));
}

/** What is written into the box of a NUMA node. The memory of one that spans packages is in none of them. */
function labelOf({ index, memory_bytes, package: inside }: NumaPart): string {
  if (inside !== null) return `package ${inside} · NUMA ${index}`;
  return memory_bytes === null ? `NUMA ${index}` : `NUMA ${index} · ${bytes(memory_bytes)}`;
}

/** Lays out a node, or some NUMA nodes of it, at most `room` pixels wide, with room for `loose` ranks bound to no core. */
export function nodeBox(type: NodeType, room: number, loose: number, shown = numasOf(type)): NodeBox {
  const numas: NumaBox[] = [];
  const cores: CoreBox[] = [];
  let [x, y, width, rowHeight] = [GAP, HEAD + GAP, 0, 0];
  for (const numa of shown) {
    const columns = perRow(numa.cores.length, room);
    const size = {
      width: Math.max(columns * CELL + GAP, LABEL),
      height: HEAD + Math.ceil(numa.cores.length / columns) * CELL + GAP / 2,
    };
    if (x > GAP && x + size.width + GAP > room) {
      [x, y, rowHeight] = [GAP, y + rowHeight + GAP, 0];
    }
    numas.push({ label: labelOf(numa), x, y, ...size });
    numa.cores.forEach((core, i) => {
      cores.push({ core, x: x + GAP / 2 + (i % columns) * CELL, y: y + HEAD + Math.floor(i / columns) * CELL });
    });
    x += size.width + GAP;
    width = Math.max(width, x);
    rowHeight = Math.max(rowHeight, size.height);
  }
  y += rowHeight + (numas.length > 0 ? GAP : 0);
  width = Math.max(width, 132);
  const placed = chips(type, width, y);
  y = placed.bottom;
  const columns = Math.max(1, Math.floor((width - 2 * GAP) / CELL));
  const place = { x: GAP, y: y + HEAD - 4, columns };
  if (loose > 0) y = place.y + Math.ceil(loose / columns) * CELL + GAP;
  return { width, height: y, numas, cores, chips: placed.chips, loose: place };
}

function chips(type: NodeType, width: number, top: number): { chips: Chip[]; bottom: number } {
  const out: Chip[] = [];
  let [x, y] = [GAP, top];
  const devices = [
    ...type.nics.map((device) => ({ device, kind: "NIC" as const })),
    ...type.gpus.map((device) => ({ device, kind: "GPU" as const })),
  ];
  for (const { device, kind } of devices) {
    const wide = Math.min(width - 2 * GAP, chipText({ device, kind }).length * 6.2 + 10);
    if (x > GAP && x + wide + GAP > width) [x, y] = [GAP, y + CHIP + 4];
    out.push({ device, kind, x, y, width: wide });
    x += wide + 4;
  }
  return { chips: out, bottom: out.length > 0 ? y + CHIP + GAP : top };
}

/** Kind, name and the NUMA nodes beside a device, such as "NIC mlx5_0 at 0". */
export function chipText({ device, kind }: { device: Device; kind: string }): string {
  const name = device.name.toLowerCase().includes(kind.toLowerCase()) ? device.name : `${kind} ${device.name}`;
  return device.near.length > 0 && device.near.length < 3 ? `${name} at ${device.near.join(", ")}` : name;
}
