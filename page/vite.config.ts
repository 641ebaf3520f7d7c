// Builds the report page: one HTML file that needs no other.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { defineConfig, type Plugin } from "vite";

/** Where the command line takes it from. `PAGE` names another place. */
const PAGE = process.env.PAGE ?? resolve(import.meta.dirname, "../crates/rankwright/src/report/page/page.html");
/** What the command line replaces by the data. */
const TOKEN = "__REPORT_DATA__";

/** Licences that packages in the page may have. */
const PERMISSIVE = ["0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"];

export default defineConfig({
  root: import.meta.dirname,
  logLevel: "warn",
  build: {
    target: ["chrome103", "firefox113", "safari16.4"],
    outDir: "build/vite",
    emptyOutDir: true,
    modulePreload: false,
    assetsInlineLimit: 0,
    cssCodeSplit: false,
  },
  plugins: [singlePage()],
});

function singlePage(): Plugin {
  return {
    name: "single-page",
    enforce: "post",
    generateBundle(_options, bundle) {
      let [script, style, html] = ["", "", ""];
      const modules = new Set<string>();
      for (const [name, output] of Object.entries(bundle)) {
        if (output.type === "chunk") {
          script += output.code;
          output.moduleIds.forEach((id) => modules.add(id));
        } else if (name.endsWith(".css")) style += output.source;
        else if (name.endsWith(".html")) html = String(output.source);
      }
      writeFileSync(PAGE, composed(html, script.trim(), style.trim(), licences(modules)));
    },
  };
}

function composed(html: string, script: string, style: string, texts: string): string {
  if (/<\/script|<!--/i.test(script) || /<\/style/i.test(style)) {
    throw new Error("the script or the style would end its own element: change the text that does");
  }
  const hash = createHash("sha256").update(script).digest("base64");
  // Charts set styles; everything else is refused, the network too.
  const policy =
    `default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'; img-src data:; ` +
    "base-uri 'none'; form-action 'none'";
  const data = `<script type="application/json" id="report-data">${TOKEN}</script>`;
  const page = html
    .replace(/\s*<script type="module"[^>]*><\/script>/g, "")
    .replace(/\s*<link rel="stylesheet"[^>]*>/g, "")
    .replace("<meta charset", () => `<meta http-equiv="Content-Security-Policy" content="${policy}" />\n    <meta charset`)
    .replace("</head>", () => `  <style>${style}</style>\n  </head>`)
    .replace('<footer id="licences"></footer>', () => texts)
    .replace("</body>", () => `  ${data}\n    <script type="module">${script}</script>\n  </body>`);
  if (page.split(TOKEN).length !== 2) throw new Error(`${TOKEN} must stand in the page exactly once`);
  return page.endsWith("\n") ? page : `${page}\n`;
}

/** The licences of all packages that are in the bundle, each text once. */
function licences(modules: Set<string>): string {
  const folders = new Set<string>();
  for (const id of modules) {
    const inside = id.replaceAll("\\", "/").match(/^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/);
    if (inside) folders.add(inside[0]);
  }
  const byText = new Map<string, string[]>();
  for (const folder of [...folders].sort()) {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    if (!PERMISSIVE.includes(license)) throw new Error(`${name} ${version} is under ${license}; allowed are ${PERMISSIVE.join(", ")}`);
    const text = licenceText(folder, license);
    byText.set(text, [...(byText.get(text) ?? []), `${name} ${version} (${license})`]);
  }
  const all = [...byText].map(([text, names]) => `${names.join(", ")}\n\n${text}`).join("\n\n----\n\n");
  return `<footer class="controls"><details><summary>Licences of the software in this page</summary><pre>rankwright: MIT or Apache-2.0, at your choice\n\n----\n\n${escaped(all)}</pre></details></footer>`;
}

function licenceText(folder: string, license: string): string {
  const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name));
  if (file) return readFileSync(join(folder, file), "utf8").trim();
  throw new Error(`${folder} (${license}) has no text of its licence: add it`);
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
