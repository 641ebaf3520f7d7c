// Sections of text: facts, commands, findings, what was not measured, tables.

import type { Fact, Finding, Report, StrategyRow, Table } from "../data.ts";
import { el, prose, words, type Child } from "../dom.ts";
import { disclosed } from "../figures/figure.ts";
import { snippet } from "../figures/snippet.ts";
import { table, type Column } from "../figures/table.ts";
import { plain, seconds, tenths } from "../words/format.ts";
import { note, type Section } from "./section.ts";

const GROUPS: Record<Fact["group"], string> = { run: "Run", machine: "Machine", report: "Report" };

export function facts({ facts }: Report): Section | null {
  if (facts.length === 0) return null;
  const groups = (Object.keys(GROUPS) as Fact["group"][]).map((group) => {
    const own = facts.filter((fact) => fact.group === group);
    if (own.length === 0) return null;
    return el(
      "div",
      {},
      el("h3", {}, GROUPS[group]),
      el("dl", { class: "facts" }, ...own.flatMap((fact) => [el("dt", {}, fact.name), el("dd", {}, ...valueOf(fact))])),
    );
  });
  return { id: "facts", title: "What, when, where", content: [el("div", { class: "columns" }, ...groups)] };
}

/** Hexadecimal digits of a digest that are shown. */
const DIGITS = 12;

/** The value of a fact, a command as it was typed; of a digest the first digits, and all of them under the pointer, on paper and in the data. */
function valueOf({ name, value }: Fact): Child[] {
  const digits = /^([a-z0-9]+:)?[0-9a-f]{40,}$/.test(value) ? value.indexOf(":") + 1 + DIGITS : 0;
  return name.includes("digest") && digits > 0 ? [el("span", { class: "digest", title: value }, el("span", {}, `${value.slice(0, digits)}…`))] : name === "command" ? [value] : prose(value);
}

export function commands({ commands }: Report): Section | null {
  if (commands.length === 0) return null;
  const content = commands.map(({ title, text, file }) =>
    el("div", { class: "command" }, el("h3", {}, ...prose(title), file ? el("span", { class: "file" }, ` ${file}`) : null), snippet(text, title, file)),
  );
  return { id: "commands", title: "What to type", content };
}

const SEVERITIES: Record<Finding["severity"], [string, string]> = {
  high: ["▲", "serious"],
  warning: ["●", "warning"],
  info: ["■", "note"],
  ok: ["✓", "in order"],
};

export function findings({ findings }: Report): Section | null {
  if (findings.length === 0) return null;
  const order = Object.keys(SEVERITIES);
  const sorted = [...findings].sort((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity));
  const codes = [...new Set(sorted.map(({ code }) => code))];
  const items = codes.flatMap((code) => {
    const same = sorted.filter((finding) => finding.code === code);
    const shown = same.slice(0, SAME).map(findingItem);
    if (same.length <= SAME) return shown;
    const rest = () => el("ul", { class: "findings" }, ...same.slice(SAME).map(findingItem));
    return [...shown, el("li", {}, disclosed(`${same.length - SAME} more of ${code}`, rest))];
  });
  return { id: "findings", title: "Findings", content: [el("ul", { class: "findings" }, ...items)] };
}

/** Findings with the same code that are shown at once. */
const SAME = 6;

function findingItem(finding: Finding): HTMLElement {
  const [sign, word] = SEVERITIES[finding.severity];
  return el(
    "li",
    { class: `finding ${finding.severity}` },
    el(
      "p",
      { class: "finding-head" },
      el("span", { class: "severity" }, el("span", { "aria-hidden": "true" }, `${sign} `), word),
      el("code", {}, finding.code),
      el("span", { class: "addressee" }, `for the ${finding.addressee}`),
    ),
    el("p", {}, ...prose(finding.text)),
    finding.remedy ? el("p", { class: "remedy" }, ...prose(finding.remedy)) : null,
    finding.snippet ? snippet(finding.snippet, `remedy for ${finding.code}`) : null,
  );
}

export function missing({ missing }: Report): Section | null {
  if (missing.length === 0) return null;
  return {
    id: "missing",
    title: "What was not measured",
    content: missing.map((entry) =>
      el("div", { class: "missing" }, el("h3", {}, TITLES[entry.section]), note(entry, `${TITLES[entry.section]}, in the list`)),
    ),
  };
}

const TITLES: Record<Report["missing"][number]["section"], string> = {
  verdict: "Verdict",
  traffic: "Traffic",
  machine: "Machine",
  devices: "Network devices",
  timeline: "Time line",
  strategies: "Strategies",
};

export function tables({ tables }: Report): Section | null {
  if (!tables || tables.length === 0) return null;
  return { id: "tables", title: "Results", content: tables.map(resultTable) };
}

/** Units that a cell has beside its number, as on the command line. */
const OF_CELLS: Record<string, (value: number) => string> = {
  s: seconds,
  "%": (value) => tenths(value / 100),
  share: tenths,
};

function resultTable({ title, caption, columns, rows }: Table, index: number): HTMLElement {
  const own: Column<Table["rows"][number]>[] = columns.map(({ name, unit, numeric }, i) => {
    const ofCell = unit ? OF_CELLS[unit] : undefined;
    const inColumn = plain(rows.map((row) => row[i]).filter((cell) => typeof cell === "number"));
    return {
      name,
      unit: ofCell ? undefined : unit,
      csvUnit: unit,
      numeric,
      value: (row) => row[i],
      show: (row) => (typeof row[i] === "number" ? (ofCell ?? inColumn)(row[i]) : words(String(row[i] ?? ""))),
    };
  });
  return el(
    "div",
    {},
    el("h3", {}, ...prose(title)),
    table({ caption, columns: own, rows, sortable: true, file: `table-${index + 1}` }),
  );
}

/** What a row of the comparison is called: the default or best one, with a word. */
export function roleWord(role: StrategyRow["role"] | "given"): string {
  switch (role) {
    case "default":
      return "launcher's default";
    case "best":
      return "best";
    case "next":
      return "next best";
    default:
      return "";
  }
}
