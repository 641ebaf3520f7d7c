// The traffic matrix: in the order of ranks or of places, before and after.

import type { Opened, Placed } from "../read/open.ts";
import { rankAt } from "../read/open.ts";
import type { Pairs } from "../read/pairs.ts";
import { choice, el } from "../dom.ts";
import { figure } from "../figures/figure.ts";
import { ends, logLegend } from "../figures/legend.ts";
import { table } from "../figures/table.ts";
import { Heatmap, type Block } from "../heat/heatmap.ts";
import type { Group } from "../heat/axes.ts";
import { pyramid } from "../heat/pyramid.ts";
import { csv } from "../words/csv.ts";
import { bytes, count, exactBytes } from "../words/format.ts";
import { cellTicks, logScale, type LogScale } from "../words/scales.ts";
import { lacks, type Section } from "./section.ts";

/** Pixels from one label to the next: both axes have the same labels, and those of columns lie side by side. */
const LABELS_APART = 32;

/** An order of ranks, with the groups that stand together. */
interface Order {
  name: string;
  rank: Uint32Array;
  position: ArrayLike<number>;
  groups: Group[];
}

export function traffic(opened: Opened): Section | null {
  const { report, pairs } = opened;
  const notes = lacks(report, "traffic");
  const extent = pairs?.extent();
  if (!pairs || !extent) {
    const none = pairs ? [el("p", {}, "No rank sent a message to another.")] : [];
    return none.length + notes.length > 0 ? { id: "traffic", title: "Traffic", content: [...none, ...notes] } : null;
  }
  const scale = logScale(...extent);
  const orders = allOrders(opened, pairs);
  const shown = firstOrders(opened, orders);
  const matrices = shown.map((order) => new Matrix(opened, pairs, scale, orders, order));
  matrices.forEach((matrix, i) => matrix.follow(matrices.filter((_, j) => j !== i)));
  return {
    id: "traffic",
    title: "Traffic",
    content: [
      el("p", {}, summary(opened, pairs, extent)),
      logLegend("bytes of a pair", scale.least, scale.most, bytes),
      el("div", { class: "pair" }, ...matrices.map((matrix, i) => matrix.figure(i))),
      ...notes,
    ],
  };
}

function summary({ report }: Opened, pairs: Pairs, [least, most]: [number, number]): string {
  const traffic = report.traffic!;
  const what = traffic.aggregated ? "groups of ranks, one per node" : "ranks";
  const rounded = pairs.rounded ? " Bytes of single pairs are rounded to within 9 %; totals are exact." : "";
  const included = traffic.collectives ? ", messages of collective operations included" : "";
  const range = least === most ? `${bytes(most)} each` : `${bytes(least)} to ${bytes(most)} each`;
  return (
    `${bytes(traffic.total_bytes)} in ${count(traffic.total_messages)} messages between ${count(traffic.ranks)} ${what}; ` +
    `${count(pairs.length)} pairs of ${traffic.aggregated ? "groups" : "ranks"} with ${range}${included}.${rounded}`
  );
}

function allOrders({ report, placements }: Opened, pairs: Pairs): Order[] {
  const inTurn = Uint32Array.from({ length: pairs.ranks }, (_, i) => i);
  const usable = placements.filter((placed) => placed.position.length === pairs.ranks);
  const aggregated = report.traffic!.aggregated;
  const jobs = (report.jobs ?? []).map(({ name, first_rank, ranks }) => ({ name, begin: first_rank, end: first_rank + ranks }));
  const plain = {
    name: aggregated ? "order of nodes" : "order of ranks",
    rank: inTurn,
    position: inTurn,
    groups: jobs.length > 1 ? jobs : [],
  };
  return [plain, ...(aggregated ? [] : usable.map((placed) => placesOf(placed, usable.length > 1, report.machine?.nodes ?? [])))];
}

/** The order of places; `compared` with those of another placement it is the one before or after. */
function placesOf(placed: Placed, compared: boolean, nodes: { name: string }[]): Order {
  const rank = rankAt(placed);
  const groups: Group[] = [];
  for (let begin = 0; begin < rank.length; ) {
    const node = placed.node[rank[begin]];
    let end = begin + 1;
    while (end < rank.length && placed.node[rank[end]] === node) end += 1;
    groups.push({ begin, end, name: nodes[node]?.name ?? `node ${node}` });
    begin = end;
  }
  const words: Partial<Record<string, string>> = compared ? { default: "before: ", best: "after: " } : {};
  const role = words[placed.view.role] ?? "";
  return { name: `${role}places of ${placed.view.name}`, rank, position: placed.position, groups };
}

/** The default's and the best placement's, or what there is. */
function firstOrders({ placements }: Opened, orders: Order[]): Order[] {
  if (orders.length === 1) return orders;
  const of = (role: string) => orders[1 + placements.findIndex(({ view }) => view.role === role)];
  const roles = placements.map(({ view }) => view.role);
  if (!roles.includes("default")) return [orders[0], roles.includes("best") ? of("best") : orders[1]];
  if (roles.includes("best")) return [of("default"), of("best")];
  return orders.length > 2 ? [orders[1], orders[2]] : [of("default")];
}

class Matrix {
  private map!: Heatmap;
  private others: Matrix[] = [];
  private root!: HTMLElement;
  private readonly place = el("div");
  private readonly one: string;

  constructor(
    private readonly opened: Opened,
    private readonly pairs: Pairs,
    private readonly scale: LogScale,
    private readonly orders: Order[],
    private order: Order,
  ) {
    this.one = opened.report.traffic!.aggregated ? "node" : "rank";
    this.build();
  }

  private build() {
    const title = this.one === "node" ? "node" : "rank";
    const ticks = (low: number, high: number, wanted: number) =>
      cellTicks(low, high, Math.floor(wanted)).map((at) => ({ at: at + 0.5, label: String(this.order.rank[at]) }));
    const view = this.map?.view;
    this.map = new Heatmap({
      label: `Traffic matrix, ${this.order.name}: rows are senders, columns are receivers`,
      layers: pyramid(this.pairs.ranks, this.pairs.ranks, this.cells(), "both"),
      columns: { title: `receiver (${title})`, ticks, groups: this.order.groups, apart: LABELS_APART },
      rows: { title: `sender (${title})`, ticks, groups: this.order.groups, apart: LABELS_APART },
      height: "square",
      describe: (block) => this.describe(block),
      pointed: (block) => this.others.forEach((other) => other.frame(this, block)),
      moved: (next) => this.others.forEach((other) => other.map.show(next, false)),
    });
    if (view) this.map.show(view, false);
    this.place.replaceChildren(this.map.element);
  }

  private cells(): Uint8Array {
    const { pairs, scale } = this;
    const { position } = this.order;
    const cells = new Uint8Array(pairs.ranks * pairs.ranks);
    for (let sender = 0; sender < pairs.ranks; sender++) {
      const row = position[sender] * pairs.ranks;
      for (let pair = pairs.first[sender]; pair < pairs.first[sender + 1]; pair++) {
        cells[row + position[pairs.destinations[pair]]] = scale.level(pairs.bytes(pair));
      }
    }
    return cells;
  }

  follow(others: Matrix[]) {
    this.others = others;
  }

  /** Frames the pair that another matrix points at. */
  private frame(from: Matrix, block: Block | null) {
    if (!block || block.across > 1) return this.map.frame(null);
    const at = (position: number) => this.order.position[from.order.rank[position]];
    this.map.frame({ column: at(block.column), row: at(block.row), across: 1, down: 1 });
  }

  private describe({ column, row, across, down }: Block): string[] {
    const senders = this.order.rank.subarray(row, row + down);
    const receivers = this.order.rank.subarray(column, column + across);
    const sum = this.pairs.sum(senders, receivers);
    const about = this.pairs.rounded ? "about " : "";
    const single = senders.length === 1 && receivers.length === 1;
    const names = `${this.named(senders)} to ${this.named(receivers)}`;
    if (sum.pairs === 0) return [names, "no messages"];
    const lines = [names, `${about}${exactBytes(Math.round(sum.bytes))}`];
    if (sum.messages !== null) lines.push(`${count(sum.messages)} ${sum.messages === 1 ? "message" : "messages"}`);
    if (!single) lines.push(`${count(sum.pairs)} pairs, the largest ${about}${bytes(sum.largest)}`);
    const nodes = this.nodes(senders[0], receivers[0]);
    if (single && nodes) lines.push(nodes);
    return lines;
  }

  private named(ranks: Uint32Array): string {
    if (ranks.length === 1) return `${this.one} ${ranks[0]}`;
    const inTurn = ranks.every((rank, i) => i === 0 || rank === ranks[i - 1] + 1);
    return inTurn ? `${this.one}s ${ranks[0]} to ${ranks[ranks.length - 1]}` : `${ranks.length} ${this.one}s from ${ranks[0]} on`;
  }

  private nodes(sender: number, receiver: number): string | null {
    const { groups, position } = this.order;
    if (!this.order.name.includes("places")) return null;
    const of = (rank: number) => groups.find((group) => position[rank] >= group.begin && position[rank] < group.end)?.name;
    const [from, to] = [of(sender), of(receiver)];
    return from === to ? `inside ${from}` : `from ${from} to ${to}`;
  }

  figure(index: number): HTMLElement {
    const { pairs } = this;
    const chosen = (i: number) => {
      this.order = this.orders[i];
      this.build();
      this.root.querySelector("figcaption strong")!.textContent = `Traffic matrix, ${this.order.name}`;
    };
    const select = this.orders.length > 1 ? choice("Order:", this.orders.map(({ name }) => name), this.orders.indexOf(this.order), chosen) : null;
    const role = ["before", "after"].find((word) => this.order.name.startsWith(word));
    this.root = figure({
      title: role ? `Traffic matrix ${role}` : `Traffic matrix, ${this.order.name}`,
      caption: captionOf(this.order, pairs.ranks),
      file: `traffic-${index + 1}`,
      content: el("div", {}, select && el("div", { class: "controls" }, select), this.place),
      drawing: () => this.map.drawing(),
      keys: () => ends(bytes(this.scale.least), `${bytes(this.scale.most)} (logarithmic)`),
      csv: () => csv(["sender", "receiver", "bytes", ...(pairs.messages ? ["messages"] : [])], rowsOf(pairs)),
      table: () => largest(pairs, this.opened),
    });
    return this.root;
  }
}

function captionOf(order: Order, ranks: number): string {
  const many = ranks > 512 ? " Where a pixel covers several pairs it has the colour of the largest." : "";
  const lines = order.groups.length > 1 ? " Lines are borders of nodes: what is far from the diagonal blocks crosses the network." : "";
  return `Rows send, columns receive; the colour is the logarithm of the bytes, empty is no message.${lines}${many}`;
}

function* rowsOf(pairs: Pairs) {
  for (let i = 0; i < pairs.length; i++) {
    const row = [pairs.sources[i], pairs.destinations[i], pairs.bytes(i)];
    yield pairs.messages ? [...row, pairs.messages[i]] : row;
  }
}

function largest(pairs: Pairs, { report }: Opened): Node {
  const one = report.traffic!.aggregated ? "node" : "rank";
  return table({
    caption: `The ${Math.min(50, pairs.length)} pairs with the most bytes, of ${count(pairs.length)}. All are in the CSV file.`,
    sortable: true,
    rows: pairs.largest(50),
    columns: [
      { name: `Sender (${one})`, numeric: true, value: (pair) => pairs.sources[pair] },
      { name: `Receiver (${one})`, numeric: true, value: (pair) => pairs.destinations[pair] },
      { name: "Bytes", numeric: true, value: (pair) => pairs.bytes(pair), show: (pair) => count(pairs.bytes(pair)) },
      ...(pairs.messages ? [{ name: "Messages", numeric: true, value: (pair: number) => pairs.messages![pair] }] : []),
    ],
  });
}

