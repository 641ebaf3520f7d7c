// Fills the page with a report as the command line does.

import { readFileSync } from "node:fs";
import type { Report } from "../src/data.ts";

const ESCAPED: Record<string, string> = { "<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029" };

export function filled(page: string, report: Report): string {
  const json = JSON.stringify(report).replace(/[<>&\u2028\u2029]/g, (sign) => ESCAPED[sign]);
  return readFileSync(page, "utf8").replace("__REPORT_DATA__", () => json);
}
