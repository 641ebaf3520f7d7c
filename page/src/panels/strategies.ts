// All strategies in one table, and why the winner won.

import type { Report, StrategyRow, StrategyTable } from "../data.ts";
import { el, prose, svg, words } from "../dom.ts";
import { table, type Column } from "../figures/table.ts";
import { bytes, seconds, share } from "../words/format.ts";
import { lacks, says, type Section } from "./section.ts";
import { roleWord } from "./text.ts";

const BY: Record<StrategyTable["by"], string> = {
  simulation: "compared by simulation of the recorded messages",
  replay: "compared by replay of the recorded events",
  model: "compared by the queueing model",
  static: "compared by traffic alone: the times of messages are not known",
};

export function strategies(report: Report): Section | null {
  const notes = lacks(report, "strategies");
  if (!report.strategies) return notes.length > 0 ? { id: "strategies", title: "Strategies", content: notes } : null;
  const { rows, by, reason } = report.strategies;
  const model = rows.some((row) => row.gain_error !== null) ? "; that of the gain has the error of the model too" : "";
  const errors = rows.some((row) => [row.gain_error, row.waiting_error_s, row.finish_error_s].some((error) => error !== null));
  const intervals = errors ? ` ± is half of the 95 % interval${model}.` : "";
  const caption = `${rows.length} placements, ${BY[by]}. Choose a column's name to sort.${intervals}`;
  const content = table({
    caption,
    columns: used(columns(rows, report.strategies.default), rows),
    rows,
    sortable: true,
    file: "strategies",
    mark: (row) => row.role,
  });
  const why = reason && !says(report.verdict, reason) ? [el("p", { class: "reason" }, el("strong", {}, "Why this one: "), ...prose(reason))] : [];
  return { id: "strategies", title: "Strategies", content: [...why, content, ...notes] };
}

function columns(rows: StrategyRow[], fallback: string | null): Column<StrategyRow>[] {
  const reach = gainReach(rows);
  const time = (name: string, of: (row: StrategyRow) => number | null, error?: (row: StrategyRow) => number | null): Column<StrategyRow> => ({
    name,
    csvUnit: "s",
    numeric: true,
    value: of,
    show: (row) => measured(of(row), error?.(row) ?? null),
  });
  return [
    { name: "Placement", value: (row) => row.name, show: (row) => placementName(row, fallback) },
    { name: "Gain", numeric: true, value: (row) => row.gain, show: (row) => gain(row, reach) },
    time("Run time", (row) => row.run_time_s),
    time("Waiting", (row) => row.waiting_s, (row) => row.waiting_error_s),
    time("Finish", (row) => row.finish_s, (row) => row.finish_error_s),
    {
      name: "Between nodes",
      csvUnit: "bytes",
      numeric: true,
      value: (row) => row.inter_node_bytes,
      show: (row) => `${bytes(row.inter_node_bytes)} (${share(row.inter_node_share)})`,
    },
    time("Busiest NIC", (row) => row.busiest_nic_time_s),
    { name: "Hop-bytes", numeric: true, value: (row) => row.hop_bytes, show: (row) => (row.hop_bytes === null ? "" : bytes(row.hop_bytes)) },
    { name: "Nodes", numeric: true, value: (row) => row.nodes },
    { name: "Note", value: (row) => row.note, show: (row) => words(row.note ?? "") },
  ];
}

/** Without the columns that are empty in all rows. */
function used(columns: Column<StrategyRow>[], rows: StrategyRow[]): Column<StrategyRow>[] {
  return columns.filter((column) => rows.some((row) => column.value(row) !== null && column.value(row) !== ""));
}

/** The name with its roles: the launcher's default may be the best. */
function placementName(row: StrategyRow, fallback: string | null): Node {
  const both = row.role === "best" && row.name === fallback;
  const role = both ? `${roleWord("best")}, ${roleWord("default")}` : roleWord(row.role);
  return el("span", {}, row.name, role && !row.name.startsWith("default of") ? el("span", { class: "role" }, role) : null);
}

function measured(value: number | null, error: number | null): string {
  if (value === null) return "";
  return error === null ? seconds(value) : `${seconds(value)} ± ${seconds(error)}`;
}

/** The largest gain or loss with its interval. */
function gainReach(rows: StrategyRow[]): number {
  return Math.max(0.01, ...rows.map((row) => Math.abs(row.gain ?? 0) + (row.gain_error ?? 0)));
}

function gain(row: StrategyRow, reach: number): Node | string {
  if (row.gain === null) return "";
  const error = row.gain_error ?? 0;
  const text = row.gain_error === null ? share(row.gain) : `${share(row.gain)} ± ${share(error)}`;
  const x = (value: number) => 40 + (38 * value) / reach;
  const picture = svg(
    "svg",
    { viewBox: "0 0 80 14", width: 80, height: 14, class: "interval", "aria-hidden": "true" },
    svg("path", { d: "M40,0v14", stroke: "currentColor", "stroke-opacity": 0.4 }),
    svg("path", { d: `M${x(row.gain - error)},7H${x(row.gain + error)}`, stroke: "var(--after)", "stroke-width": 2 }),
    svg("circle", { cx: x(row.gain), cy: 7, r: 3.5, fill: "var(--after)" }),
  );
  return el("span", { class: "gain-cell" }, picture, text);
}
