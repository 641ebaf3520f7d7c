// Invented reports of every kind that the page shows.

import type { Finding, MeasuredWay, Missing, Report, StrategyRow } from "../src/data.ts";
import { pack, random, traffic, type Pair } from "./pack.ts";
import { loads, machine, placement, timeline, type Shape } from "./parts.ts";

/** A halo exchange on a grid of columns x rows ranks, numbered by a bad order. */
function halo(columns: number, rows: number, number: (x: number, y: number) => number): Pair[] {
  const pairs: Pair[] = [];
  for (let y = 0; y < rows; y++) {
    for (let x = 0; x < columns; x++) {
      for (const [dx, dy, bytes] of [[1, 0, 4_000_000], [-1, 0, 4_000_000], [0, 1, 1_310_720], [0, -1, 1_310_720]]) {
        const [a, b] = [x + dx, y + dy];
        if (a < 0 || b < 0 || a >= columns || b >= rows) continue;
        pairs.push({ from: number(x, y), to: number(a, b), bytes: bytes + number(x, y), messages: 240 });
      }
    }
  }
  return pairs;
}

/** Places of a grid's ranks in tiles, one per node. */
function tiled(columns: number, rows: number, wide: number, high: number, number: (x: number, y: number) => number): number[] {
  const place = new Array<number>(columns * rows);
  for (let y = 0; y < rows; y++) {
    for (let x = 0; x < columns; x++) {
      const tile = Math.floor(y / high) * (columns / wide) + Math.floor(x / wide);
      place[number(x, y)] = tile * wide * high + (y % high) * wide + (x % wide);
    }
  }
  return place;
}

function row(name: string, role: StrategyRow["role"], gain: number | null, bytes: number, total: number): StrategyRow {
  const time = gain === null ? null : 4.16 * (1 - gain);
  return {
    name,
    strategy_name: name.split(":")[0],
    strategy_options: name.split(":")[1] ?? "",
    role,
    run_time_s: time,
    gain,
    gain_error: gain === null ? null : 0.02,
    waiting_s: time && time / 3,
    waiting_error_s: time && 0.01,
    finish_s: time,
    finish_error_s: time && 0.02,
    inter_node_bytes: bytes,
    inter_node_share: bytes / total,
    busiest_nic_time_s: time && time * 0.9,
    hop_bytes: bytes * 4,
    nodes: 4,
    note: gain !== null && gain < 0 ? "worse than the default in the first simulations" : null,
  };
}

const FINDINGS: Finding[] = [
  { code: "rates-assumed", severity: "warning", addressee: "user", text: "Rates of the cluster are assumed from its hardware.", remedy: "Measure them.", snippet: "rankwright calibrate --on cluster.toml" },
  { code: "nodes-alphabetical", severity: "info", addressee: "administrator", text: "Nodes are handed out in alphabetical order.", remedy: "Ask for the order of the topology.", snippet: "TopologyParam=SwitchAsNodeRank" },
  { code: "bad-rank-order", severity: "high", addressee: "developer", text: "Neighbours of the grid are far apart in rank order.", remedy: "Number the ranks along the grid." },
  { code: "profile-complete", severity: "ok", addressee: "user", text: "All messages of the run are in the profile.", remedy: "" },
];

const MISSING: Missing[] = [
  { section: "devices", text: "Counters of the devices were not read: run the check with them.", snippet: "rankwright check placement.json --counters" },
];

export function halo16(): Report {
  const shape: Shape = { nodes: 4, numas: 2, cores: 2, nics: 2, gpus: 2 };
  const number = (x: number, y: number) => (5 * x + 4 * y) % 16;
  const pairs = halo(4, 4, number);
  const blocked = Array.from({ length: 16 }, (_, rank) => rank);
  const best = tiled(4, 4, 2, 2, number);
  const total = pairs.reduce((sum, pair) => sum + pair.bytes, 0);
  const views = [placement("default", "blocked:within=numa", shape, blocked, pairs), placement("best", "drb", shape, best, pairs)];
  views[1].nics = best.map((at) => [`mlx5_${at % 2}`]);
  const bytes = views.map((view) => view.inter_node_bytes);
  return {
    version: 1,
    kind: "placement",
    title: "heat2d with 16 ranks on 4 nodes of invented",
    verdict: {
      text: "Expected run time 1.29 s instead of 4.16 s: 69 % less than with the launcher's default (± 2 %).",
      outcome: "gain",
      details: ["No placement can gain more than 74 %: that is the share of the time in MPI.", "drb keeps two thirds of the bytes inside nodes."],
    },
    facts: [
      { group: "run", name: "command", value: "mpirun -np 16 ./heat2d --iterations 240" },
      { group: "run", name: "MPI library", value: "Open MPI 4.1.4" },
      { group: "run", name: "hosts", value: "n0 to n3" },
      { group: "machine", name: "rates", value: "assumed from the hardware" },
      { group: "report", name: "rankwright", value: "1.0.0" },
      { group: "report", name: "digest of the profile", value: "sha256:6f1ed002ab5595859014ebf0951522d9" },
    ],
    commands: [
      { title: "Start the program", text: "mpirun --rankfile rankfile.txt -np 16 ./heat2d --iterations 240" },
      { title: "Rank file", text: best.map((at, rank) => `rank ${rank}=n${Math.floor(at / 4)} slot=${at % 4}`).join("\n"), file: "rankfile.txt" },
      { title: "In a batch job of Slurm", text: "#SBATCH --nodes=4\n#SBATCH --ntasks=16\nsrun --distribution=arbitrary ./heat2d" },
    ],
    jobs: [
      { name: "heat2d", first_rank: 0, ranks: 12 },
      { name: "io", first_rank: 12, ranks: 4 },
    ],
    traffic: traffic(16, pairs),
    machine: machine(shape),
    placements: views,
    devices: loads(shape, [blocked, best], pairs),
    timeline: timeline(shape, 16, 200),
    strategies: {
      by: "simulation",
      best: "drb",
      default: "blocked:within=numa",
      reason: "It keeps the heavy neighbours of the grid in one node; the next best has 12 % more bytes between nodes.",
      rows: [
        row("default of openmpi4: blocked:within=numa", "default", 0, bytes[0], total),
        row("drb", "best", 0.69, bytes[1], total),
        row("kway", "next", 0.62, bytes[1] * 1.12, total),
        row("random:seed=3", null, -0.12, bytes[0] * 1.05, total),
        row("cyclic", null, -0.08, bytes[0] * 1.04, total),
      ],
    },
    findings: FINDINGS,
    missing: MISSING,
  };
}

export function allToAll1024(): Report {
  const shape: Shape = { nodes: 16, numas: 4, cores: 16, nics: 4 };
  const vary = random(3);
  const pairs: Pair[] = [];
  for (let from = 0; from < 1024; from++) {
    for (let to = 0; to < 1024; to++) {
      if (from === to) continue;
      const near = (from ^ to) < 32 ? 400 : 1;
      pairs.push({ from, to, bytes: Math.round((2000 + 30000 * vary()) * near), messages: 20 });
    }
  }
  const cyclic = Array.from({ length: 1024 }, (_, rank) => (rank % 16) * 64 + Math.floor(rank / 16));
  const blocked = Array.from({ length: 1024 }, (_, rank) => rank);
  return large("alltoall with 1024 ranks on 16 nodes of invented", shape, pairs, cyclic, blocked, 300);
}

export function halo4096(): Report {
  const shape: Shape = { nodes: 64, numas: 4, cores: 16, nics: 1 };
  const number = (x: number, y: number) => y * 64 + x;
  const pairs = halo(64, 64, number);
  const blocked = Array.from({ length: 4096 }, (_, rank) => rank);
  return large("halo-2d with 4096 ranks on 64 nodes of invented", shape, pairs, blocked, tiled(64, 64, 8, 8, number), 400);
}

/** One node with more cores than a page shows, of which every second one is free. */
export function oneNode(): Report {
  const shape: Shape = { nodes: 1, numas: 16, cores: 256, nics: 1 };
  const pairs = halo(32, 32, (x, y) => y * 32 + x);
  const before = Array.from({ length: 1024 }, (_, rank) => 4 * rank);
  const after = tiled(32, 32, 8, 8, (x, y) => y * 32 + x).map((at) => 4 * at);
  const base = large("halo-2d with 1024 ranks on one node of invented", shape, pairs, before, after, 50);
  const two = (place: number[]) => ({ cores: pack(place.map(() => 2)), core_list: pack(place.flatMap((at) => [at, at + 2])) });
  return { ...base, placements: base.placements!.map((view, i) => ({ ...view, ...two([before, after][i]) })) };
}

function large(title: string, shape: Shape, pairs: Pair[], before: number[], after: number[], bins: number): Report {
  const base = halo16();
  return {
    ...base,
    title,
    jobs: undefined,
    traffic: traffic(before.length, pairs),
    machine: machine(shape),
    placements: [placement("default", "default", shape, before, pairs), placement("best", "multisection", shape, after, pairs)],
    devices: loads(shape, [before, after], pairs),
    timeline: timeline(shape, before.length, bins),
  };
}

export function withoutTiming(): Report {
  const base = halo16();
  return {
    ...base,
    verdict: { text: "61 % less bytes between nodes than with the launcher's default.", outcome: "unknown", details: ["How much time that saves is not known: the profile has no times of messages."] },
    timeline: undefined,
    strategies: { ...base.strategies!, by: "static", rows: base.strategies!.rows.map((one) => ({ ...row(one.name, one.role, null, one.inter_node_bytes, 1), inter_node_share: one.inter_node_share })) },
    missing: [...MISSING, { section: "timeline", text: "The times of messages were not recorded: record the program with events.", snippet: "rankwright profile --events -o app.rwp -- mpirun -n 16 ./heat2d" }],
  };
}

/** What needs most room: long names, amounts of many orders, sends after the end of the run, what is to be typed. */
export function roomy(): Report {
  const shape: Shape = { nodes: 4, numas: 2, cores: 2, nics: 2, names: (node) => `compute-partition-rack17-node${1230 + node}` };
  const base = halo16();
  const pairs = halo(4, 4, (x, y) => 4 * y + x).map((pair, i) => ({ ...pair, bytes: Math.round(10 ** (i % 12)) * 7 }));
  const place = Array.from({ length: 16 }, (_, rank) => rank);
  const advice = "`rankwright lab exec --name a-lab head -- rankwright calibrate --on clusters/a-cluster/cluster.toml`";
  return {
    ...base,
    kind: "workload",
    verdict: { text: "Keep the default: `blocked` is as good.", outcome: "no-gain", details: [`Rates are assumed: ${advice} measures them.`] },
    facts: [
      ...base.facts,
      { group: "run", name: "results/2026-11/application-with-a-long-name.rwp: gain at most", value: "unknown: ranks waited for PUs, so the time in MPI includes waiting for a PU; `rankwright profile` records it again" },
    ],
    traffic: traffic(16, pairs),
    machine: machine(shape),
    placements: base.placements!.map((view) => ({ ...placement(view.role, view.name, shape, place, pairs) })),
    devices: loads(shape, [place, place], pairs).map((load) => ({ ...load, counted_out: load.out[0], counted_in: load.in[0], counted_note: "`ethtool` counts more" })),
    timeline: { ...timeline(shape, 16, 500, 370), answer: "By whom was not recorded (`profile --timeline mpi`)." },
    strategies: { ...base.strategies!, reason: "`drb` keeps neighbours together." },
    findings: base.findings.map((finding) => ({ ...finding, text: `${finding.text} See \`rankwright doctor\`.`, remedy: `measure them: ${advice}` })),
    missing: [{ section: "devices", text: "Counters were not read: `rankwright check --counters` reads them." }],
  };
}

export function pair(): Report {
  return {
    version: 1,
    kind: "pair",
    title: "Which jobs should share nodes: 4 jobs",
    verdict: { text: "Run lu beside ep: both lose 2 % at most.", outcome: "gain", details: [] },
    facts: [{ group: "run", name: "jobs", value: "lu, ep, cg, ft" }],
    commands: [],
    tables: [
      {
        title: "Slowdown of each pair",
        caption: "Run time beside the other job over run time alone. 1 is no loss.",
        columns: [{ name: "First", numeric: false }, { name: "Second", numeric: false }, { name: "Slowdown of first", numeric: true }, { name: "Memory", unit: "GB/s", numeric: true }],
        rows: [["lu", "ep", 1.02, 41.25], ["lu", "cg", 1.31, 88], ["cg", "ft", 1.44, null], ["ep", "ft", 1, 20]],
      },
    ],
    findings: [],
    missing: [{ section: "traffic", text: "Messages of the jobs were not recorded.", snippet: "rankwright profile -o ft.rwp -- mpirun -n 16 ./ft" }],
  };
}

export function counters(): Report {
  const shape: Shape = { nodes: 4, numas: 2, cores: 2, nics: 2 };
  const base = halo16();
  const pairs = halo(4, 4, (x, y) => 4 * y + x);
  const place = Array.from({ length: 16 }, (_, rank) => rank);
  const devices = loads(shape, [place], pairs, true);
  devices[3].counted_note = "counts 14 % more than predicted: something else uses it";
  return {
    ...base,
    kind: "counters",
    title: "What the devices carried: heat2d",
    verdict: { text: "One of eight devices carried more than the placement says.", outcome: "fault", details: [] },
    jobs: undefined,
    machine: { ...machine(shape), types: machine(shape).types.map((type) => ({ ...type, packages: [] })) },
    placements: [{ ...placement("given", "rankfile", shape, place, pairs), core: pack(place.map(() => 65535)) }],
    devices,
    timeline: undefined,
    strategies: undefined,
    traffic: traffic(16, pairs),
  };
}

/** Run times of three programs, with long names of ways; one is not as predicted. */
export function runTimes(): Report {
  const ways: [string, string, number, number][] = [
    ["ring", "default", 0.64, 0.86],
    ["ring", "place", 0.65, 0.85],
    ["ring", "placement.of.a.colleague.json", 2.5, 3.1],
    ["two jobs at once", "default", 41, 43],
    ["two jobs at once", "place", 12, 12.2],
    ["lammps", "default", 0.4, 1.4],
    ["lammps", "place", 0.39, 1.41],
  ];
  const measured = ways.map(([program, way, predicted_s, median_s]): MeasuredWay => {
    const seconds = [0.97, 1.01, 1, 0.99, 1.04].map((factor) => median_s * factor);
    return { program, way, is_first: way === "default", is_placed: way === "place", predicted_s, median_s, low_s: seconds[0], high_s: seconds[4], seconds };
  });
  return {
    version: 1,
    kind: "run-times",
    title: "3 programs, predicted and measured",
    verdict: { text: "Of two ways the predicted one is faster in 3 of 3 pairs.", outcome: "as-predicted", details: [] },
    facts: [{ group: "run", name: "measured", value: "35 runs in 7 ways" }],
    commands: [],
    measured,
    tables: [
      {
        title: "Run times",
        caption: "The median of the runs of each way.",
        columns: [{ name: "program", numeric: false }, { name: "way", numeric: false }, { name: "median", unit: "s", numeric: true }],
        rows: measured.map(({ program, way, median_s }) => [program, way, median_s]),
      },
    ],
    findings: [{ code: "run-time-not-predicted", severity: "info", addressee: "developer", text: "lammps: default took 3.50 times as long as predicted.", remedy: "" }],
    missing: [],
  };
}

/** Names that would become markup or script if the page let them. */
export const HOSTILE = `</script><img src=x onerror="window.stolen=1">'"<!--\u2028&lt;b&gt;`;

export function hostile(): Report {
  const name = HOSTILE;
  const base = halo16();
  const text = JSON.stringify(base, (key, value: unknown) => {
    if (["role", "kind", "severity", "addressee", "group", "by", "outcome", "section", "type", "data", "times_from", "rows_are", "file"].includes(key)) return value;
    return typeof value === "string" ? `${value.slice(0, 12)}${name}` : value;
  });
  const report = JSON.parse(text) as Report;
  return { ...report, tables: [{ title: name, caption: name, columns: [{ name, unit: name, numeric: false }], rows: [[name], [null]] }] };
}

export const SAMPLES: Record<string, () => Report> = {
  "halo-16": halo16,
  "all-to-all-1024": allToAll1024,
  "halo-4096": halo4096,
  "one-node": oneNode,
  "without-timing": withoutTiming,
  roomy,
  pair,
  counters,
  "run-times": runTimes,
  hostile,
};
