// The machine: nodes with what is in them, and the ranks; partners of a rank light up.

import type { Machine } from "../data.ts";
import type { Opened, Placed } from "../read/open.ts";
import { coresOf, rankAt } from "../read/open.ts";
import type { Partner } from "../read/pairs.ts";
import { button, choice, el, freshId, onWidth } from "../dom.ts";
import { figure } from "../figures/figure.ts";
import { table } from "../figures/table.ts";
import { draw, type Lit } from "./draw.ts";
import { numasOf } from "./layout.ts";
import { overview } from "./overview.ts";
import { Pages } from "./pages.ts";
import { inhabitants, jobOf, type Inhabitants } from "./ranks.ts";
import { onTheme } from "../theme.ts";
import { csv } from "../words/csv.ts";
import { bytes, count, list, ranges } from "../words/format.ts";
import { logScale, LEVELS } from "../words/scales.ts";
import { lacks, type Section } from "../panels/section.ts";

export function machine(opened: Opened): Section | null {
  const { report } = opened;
  const notes = lacks(report, "machine");
  if (!report.machine) return notes.length > 0 ? { id: "machine", title: "Machine", content: notes } : null;
  const drawn = report.machine.nodes.some((node) => report.machine!.types[node.type].packages.length > 0);
  const content: Node[] = [el("p", {}, summary(report.machine))];
  if (drawn) content.push(new MachineFigure(opened, report.machine).figure());
  return { id: "machine", title: "Machine", content: [...content, ...notes] };
}

function summary({ name, nodes, other_nodes, types, rates }: Machine): string {
  const kinds = types.map((type, i) => {
    const nics = type.nics.length > 0 ? `, ${plural(type.nics.length, "NIC")}` : "";
    const gpus = type.gpus.length > 0 ? `, ${plural(type.gpus.length, "GPU")}` : "";
    const numas = new Set(numasOf(type).map(({ index }) => index)).size;
    // A record of counters has no cores.
    const cores = type.cores > 0 ? ` with ${plural(type.cores, "core")} in ${plural(numas, "NUMA node")}` : "";
    return `${plural(nodes.filter((node) => node.type === i).length, "node")}${cores}${nics}${gpus}`;
  });
  const others = other_nodes > 0 ? ` ${plural(other_nodes, "other node")} of the cluster ${other_nodes === 1 ? "is" : "are"} not used.` : "";
  return `${name}: ${list(kinds)}.${others} Rates: ${rates}.`;
}

function plural(value: number, one: string): string {
  return `${count(value)} ${one}${value === 1 ? "" : "s"}`;
}

/** Pages with partners of a rank that can be chosen directly. */
const MOST_LINKS = 12;

class MachineFigure {
  private readonly placements: Placed[];
  private placed: Placed | null;
  private here: Inhabitants[] = [];
  private order: Uint32Array = new Uint32Array();
  private page = 0;
  private job = -1;
  private rank: number | null = null;
  /** Whether the rank was clicked: then it stays chosen when the pointer leaves it. */
  private held = false;
  private width = 0;
  private pages!: Pages;
  /** By site: the share of the colour scale of the bytes that it exchanges with others, or -1. */
  private exchanged: Float64Array = new Float64Array();
  private readonly place = el("div", { class: "nodes" });
  private readonly all = el("div", { class: "all-nodes" });
  private readonly elsewhere = el("div", { class: "buttons controls elsewhere" });
  private readonly partners = el("div", { class: "partners" });
  private readonly readout = el("p", { class: "readout", "aria-live": "polite" });
  private readonly where = el("span");
  private readonly tip = el("div", { class: "tip", hidden: true });
  private readonly surface: HTMLElement;
  private root!: HTMLElement;
  private readonly help = freshId("help");

  constructor(
    private readonly opened: Opened,
    private readonly machine: Machine,
  ) {
    this.placements = opened.placements.filter((placed) => placed.node.length > 0);
    this.placed = this.placements.find(({ view }) => ["best", "given"].includes(view.role)) ?? this.placements[0] ?? null;
    const label = "Nodes of the machine with their ranks; arrow keys go from rank to rank";
    this.surface = el("div", { class: "machine", tabindex: 0, role: "application", "aria-label": label, "aria-describedby": this.help }, this.place, this.tip);
    this.show(this.placed);
    this.listen();
    onTheme(() => this.redraw());
    onWidth(this.surface, (width) => {
      this.width = width;
      this.redraw();
    });
  }

  private get jobs() {
    const { jobs, traffic } = this.opened.report;
    return traffic?.aggregated ? [] : (jobs ?? []);
  }

  private show(placed: Placed | null) {
    this.placed = placed;
    this.here = placed ? inhabitants(placed, this.machine.nodes.length) : [];
    this.order = placed ? rankAt(placed) : new Uint32Array();
    this.pages = new Pages(this.machine, this.here, placed);
    this.page = Math.min(this.page, this.pages.count - 1);
    this.exchanged = this.ofAllRanks();
    const { rank } = this;
    this.rank = null;
    if (rank !== null) return this.choose(rank);
    // What was said of a rank that is no longer chosen was about the placement before.
    for (const part of [this.elsewhere, this.readout, this.partners]) part.replaceChildren();
    this.redraw();
  }

  /** Shows another placement. Its title, caption, table and number of pages may be others. */
  private change(placed: Placed) {
    this.show(placed);
    const before = this.root;
    before.replaceWith(this.figure());
    this.root.querySelector("select")!.focus({ preventScroll: true });
  }

  private redraw() {
    if (this.width === 0) return;
    const { machine, here: all, jobs, job, pages, page } = this;
    const lit = this.lit();
    const drawing = draw({ machine, parts: pages.parts(page), inhabitants: all, jobs, job, lit }, this.width);
    this.place.replaceChildren(drawing);
    this.where.textContent = `${pages.name(page)} of ${count(pages.siteCount)}`;
    for (const link of this.elsewhere.querySelectorAll("button")) {
      link.setAttribute("aria-current", String(Number(link.dataset.page) === page));
    }
    if (pages.count === 1) return this.all.replaceChildren();
    const shown = pages.range(page);
    const chosen = lit && pages.siteOf[lit.rank];
    const { shares, partners } = lit ? this.ofPartners(lit) : { shares: this.exchanged, partners: new Set<number>() };
    this.all.replaceChildren(overview({ shares, shown, chosen, partners }, this.width));
  }

  /** By site: the share of the colour scale of the bytes that its ranks exchange with those of other sites. */
  private ofAllRanks(): Float64Array {
    const sums = new Float64Array(this.pages.siteCount);
    const { pairs } = this.opened;
    const { siteOf } = this.pages;
    if (pairs && siteOf.length === pairs.ranks) {
      for (let i = 0; i < pairs.length; i++) {
        const [from, to] = [siteOf[pairs.sources[i]], siteOf[pairs.destinations[i]]];
        if (from === to) continue;
        sums[from] += pairs.bytes(i);
        sums[to] += pairs.bytes(i);
      }
    }
    const most = sums.reduce((most, sum) => Math.max(most, sum), 0);
    return sums.map((sum) => (most > 0 ? sum / most : -1));
  }

  /** By site: the highest colour of the partners there, or -1; and the sites with partners. */
  private ofPartners({ partners }: Lit): { shares: Float64Array; partners: Set<number> } {
    const shares = new Float64Array(this.pages.siteCount).fill(-1);
    for (const [rank, share] of partners) {
      const site = this.pages.siteOf[rank];
      shares[site] = Math.max(shares[site], share);
    }
    return { shares, partners: new Set([...partners.keys()].map((rank) => this.pages.siteOf[rank])) };
  }

  private partnersOf(rank: number): Partner[] {
    const { pairs } = this.opened;
    return pairs && rank < pairs.ranks ? pairs.partners(rank).filter((partner) => partner.rank !== rank) : [];
  }

  private lit(): Lit | null {
    if (this.rank === null) return null;
    const partners = this.partnersOf(this.rank);
    const both = partners.map(({ sent, received }) => sent + received).filter((sum) => sum > 0);
    const scale = both.length > 0 ? logScale(Math.min(...both), Math.max(...both)) : null;
    return {
      rank: this.rank,
      partners: new Map(partners.map(({ rank, sent, received }) => [rank, scale ? (scale.level(sent + received) - 1) / (LEVELS - 1) : 0])),
    };
  }

  /** Lights up the partners of a rank. */
  private choose(rank: number | null) {
    if (rank === this.rank) return;
    this.rank = rank;
    this.tip.hidden = true;
    if (rank !== null && this.placed) {
      this.page = this.pages.pageOf[this.pages.siteOf[rank]];
      const partners = this.partnersOf(rank);
      this.elsewhere.replaceChildren(...this.links(rank, partners));
      this.readout.textContent = this.sentence(rank, partners);
      const largest = partners.slice(0, 4).map((one) => `${bytes(one.sent)} to ${one.rank}, ${bytes(one.received)} from it`);
      this.tip.replaceChildren(...[this.readout.textContent, ...largest].map((text) => el("div", {}, text)));
      this.partners.replaceChildren(...(partners.length > 0 ? [this.partnerTable(rank, partners)] : []));
    }
    this.redraw();
  }

  /** A button for each page with partners, those with the most bytes first. */
  private links(rank: number, partners: Partner[]): Node[] {
    const { pages } = this;
    if (pages.count === 1) return [];
    const found = new Map<number, { number: number; bytes: number }>();
    for (const { rank: partner, sent, received } of partners) {
      const page = pages.pageOf[pages.siteOf[partner]];
      const sum = found.get(page) ?? { number: 0, bytes: 0 };
      found.set(page, { number: sum.number + 1, bytes: sum.bytes + sent + received });
    }
    const sorted = [...found].sort(([a, x], [b, y]) => y.bytes - x.bytes || a - b);
    const turn = (page: number) => () => {
      [this.rank, this.held] = [rank, true];
      this.turn(page);
    };
    const link = ([page, sum]: (typeof sorted)[number]) =>
      button(`${pages.name(page)}: ${plural(sum.number, "partner")}, ${bytes(sum.bytes)}`, turn(page), { "data-page": page });
    const more = sorted.length - MOST_LINKS;
    return [
      ...(sorted.length > 0 ? [el("span", {}, "Pages with partners:")] : []),
      ...sorted.slice(0, MOST_LINKS).map(link),
      ...(more > 0 ? [el("span", {}, `and ${plural(more, "more page")}, with dots in the squares above`)] : []),
    ];
  }

  private sentence(rank: number, partners: Partner[]): string {
    const sent = partners.reduce((sum, partner) => sum + partner.sent, 0);
    const received = partners.reduce((sum, partner) => sum + partner.received, 0);
    const job = this.jobs.length > 1 ? ` of job ${this.jobs[jobOf(rank, this.jobs)]?.name}` : "";
    const traffic = this.opened.pairs ? `: sends ${bytes(sent)} and receives ${bytes(received)}, with ${plural(partners.length, "partner")}` : "";
    return `${this.one} ${rank}${job} on ${this.placeOf(rank)}${traffic}.`;
  }

  private get one() {
    return this.opened.report.traffic?.aggregated ? "Node" : "Rank";
  }

  private placeOf(rank: number): string {
    const { placed } = this;
    if (!placed) return "";
    const node = this.machine.nodes[placed.node[rank]];
    const cores = coresOf(placed, rank);
    if (cores.length === 0) return `${node.name}, bound to no core`;
    const numa = numasOf(this.machine.types[node.type]).find((one) => one.cores.includes(cores[0]));
    const devices = [...(placed.view.nics?.[rank] ?? []), ...(placed.view.gpus?.[rank] ?? [])];
    return [
      node.name,
      `${cores.length > 1 ? "cores" : "core"} L#${ranges(cores)}`,
      ...(numa ? [`NUMA node L#${numa.index}`] : []),
      ...devices,
    ].join(", ");
  }

  private partnerTable(rank: number, partners: Partner[]): Node {
    return table({
      caption: `Partners of ${this.one.toLowerCase()} ${rank}`,
      rows: partners.slice(0, 12),
      columns: [
        { name: this.one, numeric: true, value: (partner) => partner.rank },
        { name: "Place", value: (partner) => this.placeOf(partner.rank) },
        { name: "Sent to it", numeric: true, value: (partner) => bytes(partner.sent) },
        { name: "Received", numeric: true, value: (partner) => bytes(partner.received) },
      ],
    });
  }

  private listen() {
    const rankUnder = (event: Event) => (event.target as Element).closest("[data-rank]")?.getAttribute("data-rank");
    this.place.addEventListener("pointerover", (event) => {
      const rank = rankUnder(event);
      if (rank && !this.held) this.choose(Number(rank));
    });
    this.place.addEventListener("click", (event) => {
      const rank = rankUnder(event);
      this.held = Boolean(rank);
      this.choose(rank ? Number(rank) : null);
      this.tip.hidden = true;
    });
    this.place.addEventListener("pointermove", (event) => this.moveTip(event));
    this.place.addEventListener("pointerleave", () => {
      this.tip.hidden = true;
      if (!this.held) this.choose(null);
    });
    this.all.addEventListener("click", (event) => {
      const site = (event.target as Element).getAttribute("data-site");
      if (site) this.turn(this.pages.pageOf[Number(site)]);
    });
    const steps: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1, PageUp: -16, PageDown: 16, Home: -Infinity, End: Infinity };
    this.surface.addEventListener("keydown", (event) => {
      if (event.key === "Escape") {
        this.held = false;
        return this.choose(null);
      }
      const step = steps[event.key];
      if (step === undefined || !this.placed || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      const at = this.rank === null ? -Math.min(0, step) : this.placed.position[this.rank] + step;
      this.choose(this.order[Math.min(this.order.length - 1, Math.max(0, at))]);
    });
  }

  private moveTip(event: PointerEvent) {
    const box = this.surface.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    this.tip.hidden = this.rank === null || this.held;
    this.tip.style.left = x > box.width / 2 ? "" : `${x + 14}px`;
    this.tip.style.right = x > box.width / 2 ? `${box.width - x + 14}px` : "";
    this.tip.style.top = `${y + 16}px`;
  }

  private turn(page: number) {
    this.page = Math.min(this.pages.count - 1, Math.max(0, page));
    this.redraw();
  }

  private controls(): HTMLElement {
    const { placements, jobs } = this;
    const out = el("div", { class: "choices controls" });
    if (placements.length > 1) {
      const names = placements.map(({ view }) => (view.role === "best" ? `${view.name} (best)` : view.name));
      out.append(choice("Placement:", names, placements.indexOf(this.placed!), (i) => this.change(placements[i])));
    }
    if (jobs.length > 1) {
      const chosen = (i: number) => {
        this.job = i - 1;
        this.redraw();
      };
      out.append(choice("Job:", ["all jobs", ...jobs.map(({ name }) => name)], this.job + 1, chosen));
    }
    if (this.pages.count > 1) {
      const turn = (by: number) => () => this.turn(this.page + by);
      out.append(
        el("span", { class: "buttons" }, button("‹", turn(-1), { "aria-label": "Previous nodes" }), button("›", turn(1), { "aria-label": "Next nodes" }), this.where),
      );
    }
    return out;
  }

  figure(): HTMLElement {
    const { placed } = this;
    const dots = placed && this.opened.pairs ? " With a rank chosen, dots are where its partners are." : "";
    const squares = this.pages.divided ? "all nodes, or NUMA nodes where a node has too many cores for a page," : "all nodes,";
    const many = this.pages.count > 1 ? ` The small squares are ${squares} coloured by the bytes that they exchange with others; choose one to see it.${dots}` : "";
    const jobs = this.jobs.length > 1 ? " Each job has its own shade." : "";
    const number = this.one === "Rank" ? "numbered with the first rank on it" : "with the number of the node on the first one that has ranks";
    const light = this.opened.pairs ? `Point at a ${this.one === "Rank" ? "rank" : "number"}: its partners light up, in the colours of the matrix, by the bytes of both directions; a click holds it. ` : "";
    const help = el("p", { class: "help controls", id: this.help }, `${light}Keys: arrows go from rank to rank in the order of places, Page Up and Page Down by 16, Escape lets go.`);
    this.root = figure({
      title: placed ? `Where the ranks run: ${placed.view.name}` : "The nodes",
      caption: `Boxes are nodes, inside them NUMA nodes with a square per core, ${number}. The number after a NIC or GPU is its NUMA node.${jobs}${many}`,
      file: "machine",
      content: el("div", {}, this.controls(), this.all, this.surface, this.elsewhere, placed && this.readout, placed && help, this.partners),
      drawing: () => this.place.firstElementChild!.cloneNode(true) as SVGSVGElement,
      csv: () => this.csv(),
      table: placed ? () => this.rankTable() : undefined,
    });
    return this.root;
  }

  private csv(): string[] {
    const { placements, machine } = this;
    const rows = placements.flatMap((placed) =>
      Array.from(placed.node, (at, rank) => [placed.view.name, rank, machine.nodes[at].name, coresOf(placed, rank).join(" ")]),
    );
    const nodes = machine.nodes.map(({ name, type }) => [name, machine.types[type].cores]);
    return placements.length > 0 ? csv(["placement", "rank", "node", "cores (L#)"], rows) : csv(["node", "cores"], nodes);
  }

  private rankTable(): Node {
    const ranks = Array.from(this.order.keys()).map((position) => this.order[position]);
    return table({
      caption: `Places of the ranks: ${this.placed!.view.name}`,
      rows: ranks,
      columns: [
        { name: this.one, numeric: true, value: (rank) => rank },
        { name: "Place", value: (rank) => this.placeOf(rank) },
      ],
    });
  }
}
