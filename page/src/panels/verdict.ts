// The verdict: does it pay?

import type { Opened } from "../read/open.ts";
import type { Report, StrategyRow, Verdict } from "../data.ts";
import { el, prose } from "../dom.ts";
import { bytes, seconds, share } from "../words/format.ts";
import { lacks } from "./section.ts";

const OUTCOMES: Record<Verdict["outcome"], string> = {
  gain: "It pays",
  "less-waiting": "Less waiting, the same run time",
  "less-traffic": "Less traffic, run time unknown",
  "no-gain": "Keep the default",
  "as-predicted": "As predicted",
  "not-as-predicted": "Not as predicted",
  unknown: "Cannot be told",
  fault: "Something is wrong",
};

/** Kinds of report in which an outcome has another name. */
const OTHER: Partial<Record<Report["kind"], Partial<Record<Verdict["outcome"], string>>>> = {
  placement: { fault: "Worse than the default" },
  "run-times": { fault: "Slower" },
  pair: { gain: "It pays to share", "no-gain": "Sharing gains nothing" },
};

/** Kinds that answer another question than whether something pays. */
const NEUTRAL: Report["kind"][] = ["simulation", "timeline", "reproduction"];

function outcomeWord({ kind, verdict }: Report): string | null {
  return NEUTRAL.includes(kind) ? null : (OTHER[kind]?.[verdict.outcome] ?? OUTCOMES[verdict.outcome]);
}

export function verdict({ report }: Opened): HTMLElement {
  const { text, outcome, details } = report.verdict;
  const word = outcomeWord(report);
  const numbers = keyNumbers(report.strategies?.rows ?? []);
  return el(
    "section",
    { id: "verdict", class: `verdict ${word ? outcome : ""}`, "aria-labelledby": "verdict-title" },
    word && el("p", { class: "outcome" }, word),
    el("h2", { id: "verdict-title" }, ...prose(text)),
    details.length > 0 ? el("ul", {}, ...details.map((detail) => el("li", {}, ...prose(detail)))) : null,
    numbers.length > 0 ? el("dl", { class: "key-numbers" }, ...numbers) : null,
    ...lacks(report, "verdict"),
  );
}

/** The numbers of the launcher's default and of the best placement, side by side. */
function keyNumbers(rows: StrategyRow[]): HTMLElement[] {
  const before = rows.find((row) => row.role === "default");
  const after = rows.find((row) => row.role === "best");
  if (!before || !after || before === after) return [];
  const kinds: [string, (row: StrategyRow) => number | null, (value: number) => string][] = [
    ["Run time", (row) => row.run_time_s, seconds],
    ["Waiting of messages", (row) => row.waiting_s, seconds],
    ["Bytes between nodes", (row) => row.inter_node_bytes, bytes],
    ["Busiest NIC", (row) => row.busiest_nic_time_s, seconds],
  ];
  return kinds.flatMap(([name, of, format]) => {
    const [from, to] = [of(before), of(after)];
    if (from === null || to === null) return [];
    const change = from > 0 ? `${to > from ? "+" : "−"}${share(Math.abs(to - from) / from)}` : "";
    return [
      el(
        "div",
        {},
        el("dt", {}, name),
        el("dd", {}, el("span", { class: "from" }, format(from)), " → ", el("strong", {}, format(to))),
        el("dd", { class: "change" }, to === from ? "the same" : change),
      ),
    ];
  });
}
