// Tables as text with commas (RFC 4180).

export type Cell = string | number | null | undefined;

/** One line, with its end. */
export function csvLine(cells: Cell[]): string {
  return `${cells.map(field).join(",")}\r\n`;
}

function field(cell: Cell): string {
  if (cell === null || cell === undefined) return "";
  // Spreadsheets take text that begins so for a formula.
  const text = typeof cell === "string" && /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** All lines, in parts that are not too long for one string. */
export function csv(header: string[], rows: Iterable<Cell[]>): string[] {
  const parts = [];
  let part = csvLine(header);
  for (const row of rows) {
    part += csvLine(row);
    if (part.length > 1 << 20) {
      parts.push(part);
      part = "";
    }
  }
  return [...parts, part];
}
