// Tables, sortable by their headers.

import { button, el, prose } from "../dom.ts";
import { csv, type Cell } from "../words/csv.ts";
import { save } from "./download.ts";

export interface Column<Row> {
  name: string;
  /** The unit of all values; cells that are shown have none. */
  unit?: string;
  /** The unit of the values in the CSV file; cells that are shown have their own. */
  csvUnit?: string;
  numeric?: boolean;
  /** What is sorted, and what goes into the CSV file. */
  value(row: Row): Cell;
  /** What is shown, if it is not the value. */
  show?(row: Row): Node | string;
}

export interface TableOptions<Row> {
  caption: string;
  columns: Column<Row>[];
  rows: Row[];
  sortable?: boolean;
  /** Name of the CSV file without its ending; no button if absent. */
  file?: string;
  mark?(row: Row): string | null;
  /** Rows that are shown at first; more come with a button. */
  first?: number;
}

const FIRST = 100;

export function table<Row>(options: TableOptions<Row>): HTMLElement {
  const { columns, rows } = options;
  const body = el("tbody");
  const order = [...rows];
  let shown = Math.min(options.first ?? FIRST, rows.length);
  const more = button("", () => {
    shown = Math.min(rows.length, shown * 4);
    fill();
  });
  const fill = () => {
    body.replaceChildren(...order.slice(0, shown).map((row) => line(options, row)));
    more.hidden = shown === rows.length;
    more.textContent = `Show more: ${shown} of ${rows.length} rows are shown`;
  };
  const heads = columns.map((column, i) => head(column, options.sortable === true, (up) => {
    heads.forEach((other, j) => i !== j && other.removeAttribute("aria-sort"));
    order.sort((a, b) => compared(column.value(a), column.value(b), up));
    fill();
  }));
  fill();
  const content = el(
    "table",
    {},
    el("caption", {}, el("span", {}, ...prose(options.caption))),
    el("thead", {}, el("tr", {}, ...heads)),
    body,
  );
  const scroll = el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": options.caption }, content);
  const foot = el("div", { class: "buttons controls" }, more);
  if (options.file) {
    const file = `${options.file}.csv`;
    foot.append(
      button("CSV", () => save(file, csv(columns.map(({ name, unit, csvUnit }) => titled({ name, unit: unit ?? csvUnit })), order.map((row) => columns.map((c) => c.value(row)))), "text/csv"), {
        "aria-label": `Save as CSV: ${options.caption}`,
      }),
    );
  }
  return el("div", { class: "table" }, scroll, foot);
}

function titled(column: { name: string; unit?: string }): string {
  return column.unit ? `${column.name} (${column.unit})` : column.name;
}

function head<Row>(column: Column<Row>, sortable: boolean, sort: (up: boolean) => void): HTMLElement {
  const title = titled(column);
  const cell = el("th", { scope: "col", class: column.numeric && "number" }, sortable ? null : title);
  if (sortable) {
    cell.append(
      button(title, () => {
        const up = cell.getAttribute("aria-sort") !== "ascending";
        cell.setAttribute("aria-sort", up ? "ascending" : "descending");
        sort(up);
      }),
    );
  }
  return cell;
}

/** Letters of the name of a row that stand in one line. */
const NAME = 16;

function line<Row>({ columns, mark }: TableOptions<Row>, row: Row): HTMLElement {
  const cells = columns.map((column, i) => {
    const value = column.show ? column.show(row) : String(column.value(row) ?? "");
    const shown = value === "" ? "–" : value;
    if (i > 0) return el("td", { class: column.numeric && "number" }, shown);
    const letters = (typeof shown === "string" ? shown : (shown.textContent ?? "")).length;
    return el("th", { scope: "row", class: column.numeric ? "number" : letters > NAME && "long" }, shown);
  });
  return el("tr", { class: mark?.(row) }, ...cells);
}

/** Unknown values come last, whatever the direction. */
export function compared(a: Cell, b: Cell, up: boolean): number {
  if (a === null || a === undefined || b === null || b === undefined) {
    return Number(a === null || a === undefined) - Number(b === null || b === undefined);
  }
  const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
  return up ? order : -order;
}
