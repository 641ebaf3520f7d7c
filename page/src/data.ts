// The data inside a report: what the command line writes and what the page shows. Sections that are
// absent do not apply to this kind of report. What applies and was not measured is in `missing`, with
// the option that records it; the page never shows an empty figure.
//
// Times are in seconds, amounts in bytes, shares from 0 to 1. Ranks count over all jobs. Indices of
// cores and NUMA nodes are L# within their node, PUs are P#. `null` is a value that is not known.

/** The whole report. */
export interface Report {
  /** Version of this form; later versions add keys, or have another number. */
  version: 1;
  kind: Kind;
  /** Such as "lu.W.16 on 4 nodes of small". */
  title: string;
  verdict: Verdict;
  facts: Fact[];
  commands: Command[];
  jobs?: Job[];
  traffic?: Traffic;
  machine?: Machine;
  /** The first is the launcher's default where it is known. */
  placements?: PlacementView[];
  devices?: DeviceLoad[];
  timeline?: Timeline;
  strategies?: StrategyTable;
  /** Measured run times, beside predicted ones. */
  measured?: MeasuredWay[];
  /** Tables of reports that are not about one placement: pairs, reproduced numbers. */
  tables?: Table[];
  findings: Finding[];
  missing: Missing[];
}

export type Kind =
  | "workload"
  | "placement"
  | "comparison"
  | "simulation"
  | "timeline"
  | "pair"
  | "reproduction"
  | "counters"
  | "run-times";

/** Does it pay? */
export interface Verdict {
  /** The first line of the command, such as "Expected run time 21.3 s instead of 24.5 s ...". */
  text: string;
  outcome: "gain" | "less-waiting" | "less-traffic" | "no-gain" | "as-predicted" | "not-as-predicted" | "unknown" | "fault";
  /** Each a sentence: the most that any placement can gain, why the winner won, what the error is. */
  details: string[];
}

/** What, when, where: command, MPI library, hosts, versions, digests, where rates come from. */
export interface Fact {
  group: "run" | "machine" | "report";
  name: string;
  value: string;
}

/** Something to type or to save; each has a copy button. */
export interface Command {
  title: string;
  text: string;
  /** Name for saving, if it is a file. */
  file?: string;
}

export interface Job {
  name: string;
  /** Its ranks are first_rank .. first_rank + ranks. */
  first_rank: number;
  ranks: number;
}

/** Numbers in binary: little-endian, deflated (zlib), base64. */
export interface Packed {
  type: "u8" | "u16" | "u32" | "f32" | "f64";
  length: number;
  data: string;
}

/** Who sends how much to whom, collective operations expanded. */
export interface Traffic {
  ranks: number;
  /** Pairs (sender, receiver) with bytes, by sender, then receiver. */
  sources: Packed;
  destinations: Packed;
  /**
   * Bytes of each pair: exact (f64), or above 200 000 pairs rounded logarithms: u8, where v is
   * 2^(v / 4) bytes (v > 0), so within 9 %.
   */
  bytes: Packed;
  rounded: boolean;
  messages?: Packed;
  total_bytes: number;
  total_messages: number;
  /** Whether messages of collective operations are among them. */
  collectives: boolean;
  /** If more than `ranks_limit` ranks were aggregated: each "rank" above is then a node of the default. */
  aggregated: boolean;
}

export interface Machine {
  name: string;
  rates: string;
  /** Nodes that the placements use, or all if no placement is shown; the others are only counted. */
  nodes: MachineNode[];
  other_nodes: number;
  /** Node types: index from MachineNode.type. */
  types: NodeType[];
  /** Switches above the nodes, if described. */
  switches: { name: string; parent: number | null }[];
}

export interface MachineNode {
  name: string;
  type: number;
  /** Index of its switch, or null. */
  switch: number | null;
}

export interface NodeType {
  cores: number;
  pus: number;
  packages: { numa: NumaNode[] }[];
  nics: Device[];
  gpus: Device[];
}

export interface NumaNode {
  /** L# within the node. */
  index: number;
  memory_bytes: number | null;
  /** L# of its cores. */
  cores: number[];
}

export interface Device {
  name: string;
  /** L# of the NUMA nodes beside it. */
  near: number[];
  bandwidth: number | null;
}

/** One placement: where every rank runs. */
export interface PlacementView {
  role: "default" | "best" | "next" | "given";
  /** The strategy, or the launcher's default. */
  name: string;
  /** By rank: index into Machine.nodes. */
  node: Packed;
  /** By rank: first core, L#; 65535 if unbound. */
  core: Packed;
  /** By rank: number of cores. */
  cores: Packed;
  /**
   * The cores (L#) of all ranks, one rank after the other; absent if the cores of each rank follow each
   * other. Without it they are `core` and those behind it.
   */
  core_list?: Packed;
  /** By rank: position in the order of places (node, then core). */
  position: Packed;
  /** By rank: names of its network devices, only if chosen. */
  nics?: string[][];
  gpus?: string[][];
  inter_node_bytes: number;
}

/** Bytes of a network device under each placement, and what it counted. */
export interface DeviceLoad {
  /** Index into Machine.nodes. */
  node: number;
  /** null if all devices of a node count as one. */
  nic: string | null;
  /** By placement, in the order of `placements`. */
  out: number[];
  in: number[];
  counted_out?: number | null;
  counted_in?: number | null;
  /** What `check --counters` says of it. */
  counted_note?: string;
}

/** When the network is used. The fields are those of `timeline show --format json`. */
export interface Timeline {
  answer: string;
  times_from: "mpi" | "transport" | "device" | "replay";
  span_s: number;
  bin_s: number;
  used: number;
  utilisation: number;
  overlap: number;
  /** Seconds, over all devices, with k senders at once. */
  by_senders: number[];
  windows: {
    begin_s: number;
    end_s: number;
    load_balance: number | null;
    serialisation: number | null;
    transfer: number | null;
  }[];
  devices: {
    node: string;
    device: string;
    bandwidth: number;
    utilisation_out: number;
    utilisation_in: number;
    bytes_out: number[];
    bytes_in: number[];
  }[];
  counted: { node: string; device: string; bytes_out: number[]; bytes_in: number[] }[];
  /** Row by rank, column by bin: u8, 255 is the whole bin and 0 none of it. At most 1024 rows, else rows are nodes. */
  busy: Packed;
  busy_rows: number;
  rows_are: "ranks" | "nodes";
}

export interface StrategyTable {
  by: "simulation" | "replay" | "model" | "static";
  best: string;
  default: string | null;
  reason: string;
  rows: StrategyRow[];
}

export interface StrategyRow {
  name: string;
  strategy_name: string;
  strategy_options: string;
  role: "default" | "best" | "next" | null;
  run_time_s: number | null;
  gain: number | null;
  gain_error: number | null;
  waiting_s: number | null;
  waiting_error_s: number | null;
  finish_s: number | null;
  finish_error_s: number | null;
  inter_node_bytes: number;
  inter_node_share: number;
  busiest_nic_time_s: number | null;
  hop_bytes: number | null;
  nodes: number;
  /** Why it is not evaluated further, if it was eliminated. */
  note: string | null;
}

/** The run times of a program started in one way, with the 95 % interval of their median. */
export interface MeasuredWay {
  /** Empty if there are no names of programs. */
  program: string;
  way: string;
  /** The others of the program are compared with it. */
  is_first: boolean;
  /** It is the placement of `place`. */
  is_placed: boolean;
  predicted_s: number | null;
  median_s: number;
  low_s: number;
  high_s: number;
  /** All runs. */
  seconds: number[];
}

export interface Table {
  title: string;
  caption: string;
  columns: { name: string; unit?: string; numeric: boolean }[];
  rows: (string | number | null)[][];
}

export interface Finding {
  /** Such as "rates-assumed"; stable. */
  code: string;
  severity: "high" | "warning" | "info" | "ok";
  addressee: "user" | "developer" | "administrator";
  text: string;
  remedy: string;
  /** What to paste to mend it. */
  snippet?: string;
}

/** What was not measured, and how to measure it. */
export interface Missing {
  /** The section that lacks it. */
  section: "verdict" | "traffic" | "machine" | "devices" | "timeline" | "strategies";
  text: string;
  snippet?: string;
}
