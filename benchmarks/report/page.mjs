// Times of the report page in Chromium. Runs in page/, after its sources were compiled to build/.

import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const from = (path) => import(pathToFileURL(join(process.cwd(), path)).href);
const { chromium } = createRequire(join(process.cwd(), "package.json"))("playwright-core");
const { filled } = await from("build/samples/page.js");
const { SAMPLES } = await from("build/samples/reports.js");

const PAGE = "../crates/rankwright/src/report/page/page.html";
const RUNS = 5;

const folder = mkdtempSync(join(tmpdir(), "rankwright-page-"));
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"],
});

/** Milliseconds from the start of loading until the page is drawn and answers. */
async function usable(page, address) {
  const begin = performance.now();
  await page.goto(address);
  await page.waitForSelector("#page[data-ready=yes]");
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))));
  return performance.now() - begin;
}

/** Milliseconds of work per frame while both matrices zoom by the wheel: mean and longest. */
async function zooming(page) {
  return page.evaluate(async () => {
    const map = document.querySelector("#traffic .heatmap");
    map.scrollIntoView();
    map.focus();
    const box = map.getBoundingClientRect();
    const at = { clientX: box.left + 0.5 * box.width, clientY: box.top + 0.4 * box.height };
    const times = [];
    for (let i = 0; i < 40; i++) {
      const begin = performance.now();
      map.dispatchEvent(new WheelEvent("wheel", { deltaY: i < 20 ? -120 : 120, cancelable: true, ...at }));
      // The drawing is done in the next frame; its work ends before the message after it.
      await new Promise((done) => requestAnimationFrame((start) => setTimeout(() => done(times.push(performance.now() - Math.max(begin, start))))));
    }
    return [times.reduce((a, b) => a + b) / times.length, Math.max(...times)];
  });
}

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const round = (value) => String(Math.round(value));

console.log("| report | size, kB | usable after, ms (median, longest) | frame while zooming, ms (mean, longest) |");
console.log("|---|---|---|---|");
for (const name of ["halo-16", "all-to-all-1024", "halo-4096"]) {
  const file = join(folder, `${name}.html`);
  writeFileSync(file, filled(PAGE, SAMPLES[name]()));
  const [times, frames] = [[], []];
  for (let run = 0; run < RUNS; run++) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    times.push(await usable(page, pathToFileURL(file).href));
    frames.push(await zooming(page));
    await page.close();
  }
  const zoom = `${round(median(frames.map(([mean]) => mean)))}, ${round(Math.max(...frames.map(([, most]) => most)))}`;
  console.log(`| ${name} | ${round(statSync(file).size / 1000)} | ${round(median(times))}, ${round(Math.max(...times))} | ${zoom} |`);
}
await browser.close();
rmSync(folder, { recursive: true });
