// The report page: reads the data that the page carries and shows it, section by section.

import "./style/page.css";
import "./style/figures.css";
import type { Report } from "./data.ts";
import { button, choice, el } from "./dom.ts";
import { save } from "./figures/download.ts";
import { machine } from "./machine/panel.ts";
import { devices } from "./panels/devices.ts";
import { runs } from "./panels/runs.ts";
import { render, type Section } from "./panels/section.ts";
import { strategies } from "./panels/strategies.ts";
import { commands, facts, findings, missing, tables } from "./panels/text.ts";
import { traffic } from "./panels/traffic.ts";
import { verdict } from "./panels/verdict.ts";
import { open, parse, type Opened } from "./read/open.ts";
import { choose, startTheme } from "./theme.ts";
import { timeline } from "./timeline/panel.ts";

const KINDS: Record<Report["kind"], string> = {
  workload: "Workload and placement",
  placement: "Placement",
  comparison: "Comparison of placements",
  simulation: "Simulation",
  timeline: "Time line",
  pair: "Jobs that share nodes",
  reproduction: "Reproduction of published numbers",
  counters: "Counters of network devices",
  "run-times": "Measured run times",
};

/** The sections in the order in which they are read. */
function sections(opened: Opened): Section[] {
  const { report } = opened;
  return [
    facts(report),
    commands(report),
    runs(report),
    tables(report),
    traffic(opened),
    machine(opened),
    devices(report),
    timeline(opened),
    strategies(report),
    findings(report),
    missing(report),
  ].filter((section) => section !== null);
}

function head(report: Report, text: string): HTMLElement {
  const schemes = [null, "light", "dark"] as const;
  return el(
    "header",
    {},
    el("div", { class: "titles" }, el("p", { class: "kind" }, `rankwright · ${KINDS[report.kind] ?? report.kind}`), el("h1", {}, report.title)),
    el(
      "div",
      { class: "tools controls" },
      choice("Colours:", ["as the system", "light", "dark"], 0, (i) => choose(schemes[i])),
      button("JSON", () => save("report.json", [text], "application/json"), { "aria-label": "Save the data of the page as JSON" }),
      button("Print", () => window.print(), { "aria-label": "Print the page" }),
    ),
  );
}

function contents(parts: Section[]): HTMLElement {
  const links = parts.map(({ id, title }) => el("li", {}, el("a", { href: `#${id}` }, title)));
  return el("nav", { "aria-label": "Sections", class: "controls" }, el("ol", {}, ...links));
}

function show(opened: Opened, text: string): void {
  const { report } = opened;
  document.title = `${report.title} · rankwright`;
  const parts = sections(opened);
  const main = el("main", { id: "report" }, verdict(opened), ...parts.map(render));
  const skip = el("a", { href: "#report", class: "skip" }, "To the verdict");
  document.querySelector("#page")!.replaceChildren(skip, head(report, text), contents(parts), main);
}

async function start(): Promise<void> {
  startTheme();
  const page = document.querySelector("#page")!;
  try {
    const text = document.querySelector("#report-data")?.textContent ?? "";
    show(await open(parse(text)), text);
    page.setAttribute("data-ready", "yes");
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    page.setAttribute("data-ready", "no");
    page.replaceChildren(el("main", {}, el("section", { class: "verdict fault" }, el("h1", {}, "This report cannot be shown"), el("p", {}, why))));
  }
}

void start();
