// Parts of invented reports: machines, placements, device loads, time lines.

import type { DeviceLoad, Machine, PlacementView, Timeline } from "../src/data.ts";
import { pack, random, type Pair } from "./pack.ts";

export interface Shape {
  nodes: number;
  /** NUMA nodes of a node. */
  numas: number;
  /** Cores of a NUMA node. */
  cores: number;
  nics: number;
  gpus?: number;
  names?: (node: number) => string;
}

export function machine(shape: Shape): Machine {
  const numa = Array.from({ length: shape.numas }, (_, index) => ({
    index,
    memory_bytes: 64e9,
    cores: Array.from({ length: shape.cores }, (_, i) => index * shape.cores + i),
  }));
  const near = (i: number) => [i % shape.numas];
  return {
    name: "invented",
    rates: "assumed from the hardware",
    nodes: Array.from({ length: shape.nodes }, (_, node) => ({
      name: shape.names?.(node) ?? `n${node}`,
      type: 0,
      switch: shape.nodes > 8 ? Math.floor(node / 16) : null,
    })),
    other_nodes: 2,
    types: [
      {
        cores: shape.numas * shape.cores,
        pus: 2 * shape.numas * shape.cores,
        packages: [{ numa }],
        nics: Array.from({ length: shape.nics }, (_, i) => ({ name: `mlx5_${i}`, near: near(i), bandwidth: 12.5e9 })),
        gpus: Array.from({ length: shape.gpus ?? 0 }, (_, i) => ({ name: `gpu${i}`, near: near(i), bandwidth: 25e9 })),
      },
    ],
    switches: shape.nodes > 8 ? Array.from({ length: Math.ceil(shape.nodes / 16) }, (_, i) => ({ name: `leaf${i}`, parent: null })) : [],
  };
}

/** A placement by the place of each rank, counted over nodes and their cores. */
export function placement(role: PlacementView["role"], name: string, shape: Shape, place: number[], pairs: Pair[]): PlacementView {
  const perNode = shape.numas * shape.cores;
  const node = place.map((at) => Math.floor(at / perNode));
  const order = place.map((at, rank) => ({ at, rank })).sort((a, b) => a.at - b.at);
  const position = new Array<number>(place.length);
  order.forEach(({ rank }, at) => (position[rank] = at));
  return {
    role,
    name,
    node: pack(node),
    core: pack(place.map((at) => at % perNode)),
    cores: pack(place.map(() => 1)),
    position: pack(position),
    inter_node_bytes: pairs.reduce((sum, pair) => sum + (node[pair.from] === node[pair.to] ? 0 : pair.bytes), 0),
  };
}

/** Bytes of each node's devices, shared evenly between them. */
export function loads(shape: Shape, places: number[][], pairs: Pair[], counted = false): DeviceLoad[] {
  const perNode = shape.numas * shape.cores;
  const sums = places.map((place) => {
    const sum = { out: new Float64Array(shape.nodes), in: new Float64Array(shape.nodes) };
    for (const { from, to, bytes } of pairs) {
      const [a, b] = [Math.floor(place[from] / perNode), Math.floor(place[to] / perNode)];
      if (a === b) continue;
      sum.out[a] += bytes;
      sum.in[b] += bytes;
    }
    return sum;
  });
  const vary = random(7);
  return Array.from({ length: shape.nodes * shape.nics }, (_, i) => {
    const node = Math.floor(i / shape.nics);
    const out = sums.map((sum) => Math.round(sum.out[node] / shape.nics));
    const into = sums.map((sum) => Math.round(sum.in[node] / shape.nics));
    const load: DeviceLoad = { node, nic: shape.nics === 1 ? null : `mlx5_${i % shape.nics}`, out, in: into };
    if (counted) {
      load.counted_out = Math.round(out[0] * (1.01 + 0.02 * vary()));
      load.counted_in = Math.round(into[0] * (1.01 + 0.02 * vary()));
    }
    return load;
  });
}

/** Phases of communication: an exchange every twentieth of the time. Of all bins the last `late` are after the run. */
export function timeline(shape: Shape, ranks: number, bins: number, late = 0): Timeline {
  const vary = random(11);
  const busyIn = (bin: number) => (bin % 20 < 7 ? 0.55 + 0.45 * vary() : 0.02 * vary());
  const bin = 0.01;
  const bandwidth = 12.5e9;
  const span = (bins - late) * bin;
  const bytes = () => Array.from({ length: bins }, (_, i) => Math.round(busyIn(i) * bandwidth * bin));
  const devices = Array.from({ length: Math.min(256, shape.nodes * shape.nics) }, (_, i) => ({
    node: shape.names?.(Math.floor(i / shape.nics)) ?? `n${Math.floor(i / shape.nics)}`,
    device: `mlx5_${i % shape.nics}`,
    bandwidth,
    utilisation_out: 0.31,
    utilisation_in: 0.3,
    bytes_out: bytes(),
    bytes_in: bytes(),
  }));
  const rows = Math.min(1024, ranks);
  return {
    answer: "Devices are busy in phases: in 35 % of the time nearly all, in the rest hardly any.",
    times_from: "mpi",
    span_s: span,
    bin_s: bin,
    used: 0.36,
    utilisation: 0.31,
    overlap: 0.62,
    by_senders: [0, 0.41, 0.62, 0.55, 0.31, 0.12, 0.03, 0.01],
    windows: Array.from({ length: 10 }, (_, i) => ({
      begin_s: (i * span) / 10,
      end_s: ((i + 1) * span) / 10,
      load_balance: 0.86 + 0.1 * vary(),
      serialisation: 0.74 + 0.2 * vary(),
      transfer: 0.5 + 0.3 * vary(),
    })),
    devices,
    counted: devices.slice(0, 2).map((one) => ({ node: one.node, device: one.device, bytes_out: one.bytes_out.map((b) => Math.round(b * 1.01)), bytes_in: one.bytes_in })),
    busy: pack(Array.from({ length: rows * bins }, (_, i) => Math.round(255 * busyIn(i % bins))), "u8"),
    busy_rows: rows,
    rows_are: "ranks",
  };
}
