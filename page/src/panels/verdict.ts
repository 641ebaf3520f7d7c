// The verdict: does it pay?

import type { Opened } from "../read/open.ts";
import type { StrategyRow, Verdict } from "../data.ts";
import { el } from "../dom.ts";
import { bytes, seconds, share } from "../words/format.ts";
import { lacks } from "./section.ts";

const OUTCOMES: Record<Verdict["outcome"], string> = {
  gain: "It pays",
  "no-gain": "Keep the default",
  unknown: "Not known",
  fault: "Something is wrong",
};

export function verdict({ report }: Opened): HTMLElement {
  const { text, outcome, details } = report.verdict;
  const numbers = keyNumbers(report.strategies?.rows ?? []);
  return el(
    "section",
    { id: "verdict", class: `verdict ${outcome}`, "aria-labelledby": "verdict-title" },
    el("p", { class: "outcome" }, OUTCOMES[outcome]),
    el("h2", { id: "verdict-title" }, text),
    details.length > 0 ? el("ul", {}, ...details.map((detail) => el("li", {}, detail))) : null,
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
