// Writes the sample reports: node build/samples/write.js PAGE FOLDER [NAME..]

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { filled } from "./page.ts";
import { SAMPLES } from "./reports.ts";

const [page, folder, ...names] = process.argv.slice(2);
if (!page || !folder) {
  console.error("usage: node build/samples/write.js PAGE FOLDER [NAME..]");
  process.exit(2);
}
mkdirSync(folder, { recursive: true });
for (const name of names.length > 0 ? names : Object.keys(SAMPLES)) {
  const make = SAMPLES[name];
  if (!make) {
    console.error(`no sample is called \`${name}\`; there are ${Object.keys(SAMPLES).join(", ")}`);
    process.exit(2);
  }
  writeFileSync(join(folder, `${name}.html`), filled(page, make()));
}
