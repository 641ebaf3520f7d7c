// Sizes of charting libraries, minified with what the report needs of them, and the time to the first
// drawing of a heat map of n x n cells. The argument is the folder with their packages.

import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const folder = process.argv[2];
const { buildSync } = createRequire(join(folder, "package.json"))("esbuild");
const { chromium } = createRequire(join(process.cwd(), "package.json"))("playwright-core");

/** Bars, lines, axes. */
const CHARTS = {
  "Observable Plot": `import { plot, barX, barY, lineY, ruleX, tickX, axisX, axisY } from "@observablehq/plot"; window.kept = [plot, barX, barY, lineY, ruleX, tickX, axisX, axisY];`,
  ECharts: `import * as echarts from "echarts/core"; import { BarChart, LineChart } from "echarts/charts"; import { GridComponent, TooltipComponent, LegendComponent, AriaComponent } from "echarts/components"; import { SVGRenderer } from "echarts/renderers"; echarts.use([BarChart, LineChart, GridComponent, TooltipComponent, LegendComponent, AriaComponent, SVGRenderer]); window.kept = echarts;`,
  uPlot: `import uPlot from "uplot"; window.kept = uPlot;`,
  Plotly: `import Plotly from "plotly.js-dist-min"; window.kept = Plotly;`,
};

const VALUES = `const value = (i, j) => (i * 7 + j * 13) % 255; const place = () => { const e = document.createElement("div"); e.style = "width:640px;height:640px"; document.body.append(e); return e; };`;

/** Each sets window.heat(n), which returns milliseconds. */
const HEAT_MAPS = {
  "own canvas": `window.heat = (n) => { const cells = new Uint8Array(n * n); for (let i = 0; i < n * n; i++) cells[i] = value(i, i >> 7); const e = place(), t = performance.now(); let s = cells, m = n; while (m > 640) { const h = m >> 1, o = new Uint8Array(h * h); for (let i = 0; i < h; i++) for (let j = 0; j < h; j++) { const a = 2 * i * m + 2 * j; o[i * h + j] = Math.max(s[a], s[a + 1], s[a + m], s[a + m + 1]); } s = o; m = h; } const c = document.createElement("canvas"); c.width = c.height = m; e.append(c); const d = new ImageData(m, m), u = new Uint32Array(d.data.buffer); for (let i = 0; i < m * m; i++) u[i] = 0xff000000 | (s[i] * 0x10101); const x = c.getContext("2d"); x.putImageData(d, 0, 0); x.getImageData(1, 1, 1, 1); return performance.now() - t; };`,
  Plotly: `import Plotly from "plotly.js-dist-min"; window.heat = async (n) => { const z = Array.from({ length: n }, (_, i) => Float64Array.from({ length: n }, (_, j) => value(i, j))); const e = place(), t = performance.now(); await Plotly.newPlot(e, [{ type: "heatmap", z }], { width: 640, height: 640 }); return performance.now() - t; };`,
  "Observable Plot": `import { plot, raster } from "@observablehq/plot"; window.heat = (n) => { const cells = Float64Array.from({ length: n * n }, (_, i) => value(i, i >> 7)); const t = performance.now(); const e = plot({ width: 640, height: 640, marks: [raster(cells, { width: n, height: n, imageRendering: "pixelated" })] }); document.body.append(e); e.getBoundingClientRect(); return performance.now() - t; };`,
  ECharts: `import * as echarts from "echarts/core"; import { HeatmapChart } from "echarts/charts"; import { GridComponent, VisualMapComponent } from "echarts/components"; import { CanvasRenderer } from "echarts/renderers"; echarts.use([HeatmapChart, GridComponent, VisualMapComponent, CanvasRenderer]); window.heat = (n) => { const data = []; for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) data.push([i, j, value(i, j)]); const axis = { type: "category", data: [...Array(n).keys()] }; const e = place(), t = performance.now(); echarts.init(e).setOption({ animation: false, xAxis: axis, yAxis: axis, visualMap: { min: 0, max: 255 }, series: [{ type: "heatmap", data, progressive: 0 }] }); e.querySelector("canvas").getContext("2d").getImageData(300, 300, 1, 1); return performance.now() - t; };`,
};

function bundled(source) {
  const [output] = buildSync({ stdin: { contents: source, resolveDir: folder }, bundle: true, minify: true, format: "iife", write: false, outfile: "out.js" }).outputFiles;
  return output.text;
}

for (const [name, source] of Object.entries(CHARTS)) {
  const text = bundled(source);
  console.log(`${name}: ${Math.round(text.length / 1000)} kB minified, ${Math.round(gzipSync(text).length / 1000)} kB compressed`);
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--headless", "--no-sandbox", "--disable-gpu"] });
for (const [name, source] of Object.entries(HEAT_MAPS)) {
  const script = join(folder, "heat.js");
  writeFileSync(script, bundled(source.replace(/^((?:import [^;]*; )*)/, `$1${VALUES} `)));
  for (const [cells, runs] of [[1024, 3], [4096, 1]]) {
    const page = await browser.newPage();
    await page.addScriptTag({ path: script });
    const times = [];
    for (let i = 0; i < runs; i++) {
      const limit = new Promise((done) => setTimeout(() => done(null), 60_000));
      times.push(await Promise.race([page.evaluate((n) => window.heat(n), cells).catch(() => null), limit]));
    }
    console.log(`${name}, ${cells} x ${cells} cells: ${times.map((time) => (time === null ? "over 60 s" : `${Math.round(time)} ms`)).join(", ")}`);
    // A page that computes for minutes does not close.
    if (!times.includes(null)) await page.close();
  }
}
process.exit(0);
