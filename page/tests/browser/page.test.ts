// The page in a real browser.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { createRequire } from "node:module";
import type { Locator, Page } from "playwright-core";
import type { Report } from "../../src/data.ts";
import { pack } from "../../samples/pack.ts";
import { machine, placement } from "../../samples/parts.ts";
import { counters, halo16, halo4096, hostile, HOSTILE, oneNode, pair, roomy, runTimes, SAMPLES, withoutTiming } from "../../samples/reports.ts";
import { open as openReport, UNBOUND } from "../../src/read/open.ts";
import { count } from "../../src/words/format.ts";
import { Browser, drawn, gesture, lacking, type Opening } from "./browser.ts";

const browser = new Browser();
const skip = lacking() ?? false;
if (skip) console.log(`SKIPPED: report page in a browser: ${skip}`);

before(async () => skip || (await browser.start()));
after(() => browser.stop());

test("every sample is shown without complaints and without requests", { skip }, async () => {
  for (const [name, make] of Object.entries(SAMPLES)) {
    const report = make();
    const { page, complaints, requests } = await browser.open(report);
    assert.deepEqual(complaints, [], name);
    assert.deepEqual(requests, [], name);
    assert.equal(await page.locator("#verdict h2").textContent(), report.verdict.text.replaceAll("`", ""));
    assert.equal(words(await page.title()), words(`${report.title} · rankwright`));
    await page.close();
  }
});

function words(text: string): string {
  return text.replace(/\s+/g, " ");
}

test("sections stand in the order in which they are read, and none is empty", { skip }, async () => {
  const { page } = await browser.open(halo16());
  const ids = await page.locator("main > section").evaluateAll((all) => all.map((one) => one.id));
  assert.deepEqual(ids, ["verdict", "facts", "commands", "traffic", "machine", "devices", "timeline", "strategies", "findings", "missing"]);
  const blank = await page.locator("figure").evaluateAll((all) => all.filter((one) => !one.querySelector("canvas, svg *")).length);
  assert.equal(blank, 0);
  await page.close();
});

test("what was not measured is said in its place, with what records it", { skip }, async () => {
  const { page } = await browser.open(withoutTiming());
  assert.match((await page.locator("#timeline").textContent())!, /times of messages were not recorded.*profile --events/s);
  assert.equal(await page.locator("#timeline figure").count(), 0);
  await page.close();
  const quiet = halo16();
  for (const load of quiet.devices!) load.out = load.in = [0, 0];
  const inside = await browser.open(quiet);
  assert.match((await inside.page.locator("#devices").textContent())!, /all messages stay inside nodes/);
  assert.equal(await inside.page.locator("#devices figure").count(), 0);
  await inside.page.close();
});

test("numbers under the pointer and the cursor are those of the data", { skip }, async () => {
  const report = halo16();
  const { pairs, placements } = await openReport(report);
  const { page } = await browser.open(report);
  const maps = page.locator("#traffic .heatmap");
  for (const [index, placed] of placements.entries()) {
    for (const one of [0, 17, 40]) {
      const [from, to] = [pairs!.sources[one], pairs!.destinations[one]];
      await pointAt(page, maps.nth(index), placed.position[to], placed.position[from], 16);
      const expected = [`rank ${from} to rank ${to}`, `${count(pairs!.bytes(one))} bytes`, `${count(pairs!.messages![one])} messages`];
      const tip = (await maps.nth(index).locator(".tip").textContent())!;
      for (const text of expected) assert.ok(tip.includes(text), `${tip} has ${text}`);
    }
  }
  await maps.first().focus();
  await page.keyboard.press("Escape");
  for (const key of ["ArrowRight", "ArrowRight", "ArrowDown"]) await page.keyboard.press(key);
  assert.match((await page.locator("#traffic .readout").first().textContent())!, /^rank 1 to rank 1; no messages/);
  await page.close();
});

async function pointAt(page: Page, map: Locator, column: number, row: number, cells: number, rows = cells) {
  await map.scrollIntoViewIfNeeded();
  const canvas = (await map.locator("canvas").boundingBox())!;
  await page.mouse.move(canvas.x + ((column + 0.5) / cells) * canvas.width, canvas.y + ((row + 0.5) / rows) * canvas.height);
}

test("a matrix of 4096 ranks zooms by wheel, box and keys down to single pairs", { skip }, async () => {
  const { page } = await browser.open(halo4096());
  const map = page.locator("#traffic .heatmap").first();
  const canvas = map.locator("canvas");
  await map.scrollIntoViewIfNeeded();
  const box = (await canvas.boundingBox())!;
  await pointAt(page, map, 100, 100, 4096);
  assert.match((await map.locator(".tip").textContent())!, /ranks \d+ to \d+ to ranks .*pairs, the largest/);
  const at = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
  await page.mouse.move(at.x, at.y);
  await page.mouse.down();
  await page.mouse.move(at.x + 60, at.y + 60, { steps: 3 });
  await page.mouse.up();
  for (let i = 0; i < 6; i++) await page.mouse.wheel(0, -400);
  await drawn(page);
  await page.mouse.move(at.x + 2, at.y + 2);
  assert.match((await map.locator(".tip").textContent())!, /rank \d+ to rank \d+/);
  await page.keyboard.press("0");
  await drawn(page);
  assert.equal(await page.locator("#traffic button", { hasText: "All" }).first().isDisabled(), true);
  await page.close();
});

test("a rank's partners light up, by pointer and by keyboard, and jobs are filtered", { skip }, async () => {
  const report = halo16();
  const { pairs } = await openReport(report);
  const { page } = await browser.open(report);
  await page.locator("#machine [data-rank='5']").first().hover();
  const partners = pairs!.partners(5);
  assert.match((await page.locator("#machine .readout").textContent())!, new RegExp(`^Rank 5 .*with ${partners.length} partners`));
  const lit = await page.locator("#machine [data-rank] rect[fill^='rgb(']").count();
  assert.equal(lit, partners.length);
  await page.mouse.move(0, 0);
  await page.locator("#machine .machine").focus();
  await page.keyboard.press("End");
  await page.keyboard.press("ArrowLeft");
  assert.match((await page.locator("#machine .readout").textContent())!, /^Rank \d+ .*core L#\d/);
  await page.getByLabel("Job:").selectOption("2");
  assert.equal(await page.locator("#machine [data-rank][opacity]").count(), 12);
  await page.close();
});

test("two fingers zoom the matrix and move it, one scrolls the page and points", { skip }, async () => {
  const { page, complaints } = await browser.open(halo16(), { touch: true, width: 500 });
  const map = page.locator("#traffic .heatmap").first();
  await map.scrollIntoViewIfNeeded();
  const box = (await map.locator("canvas").boundingBox())!;
  const at = (x: number, y: number) => ({ x: box.x + x * box.width, y: box.y + y * box.height });
  const scrolled = () => page.evaluate(() => window.scrollY);
  const before = await scrolled();
  const under = async (x: number, y: number) => {
    await gesture(page, [[at(x, y)]]);
    return map.locator(".tip div").first().textContent();
  };
  const { placements } = await openReport(halo16());
  const rank = (position: number) => placements[0].position.indexOf(position);
  const cell = (row: number, column: number) => `rank ${rank(row)} to rank ${rank(column)}`;
  assert.equal(await under(0.4, 0.6), cell(9, 6));
  // Twice as far apart, about the middle: 8 of 16 cells are left, from 4 on.
  await gesture(page, [
    [at(0.5, 0.4), at(0.5, 0.6)],
    [at(0.5, 0.35), at(0.5, 0.65)],
    [at(0.5, 0.3), at(0.5, 0.7)],
  ]);
  assert.equal(await page.getByRole("button", { name: "Show all cells" }).first().isDisabled(), false);
  assert.deepEqual([await under(0.03, 0.03), await under(0.97, 0.97)], [cell(4, 4), cell(11, 11)]);
  // A quarter of the map up and to the left: two cells.
  await gesture(page, [
    [at(0.5, 0.5), at(0.7, 0.7)],
    [at(0.4, 0.4), at(0.6, 0.6)],
    [at(0.25, 0.25), at(0.45, 0.45)],
  ]);
  assert.deepEqual([await under(0.03, 0.03), await under(0.97, 0.97)], [cell(6, 6), cell(13, 13)]);
  assert.equal(await scrolled(), before, "two fingers scroll nothing");
  await gesture(page, [[at(0.5, 0.8)], [at(0.5, 0.7)], [at(0.5, 0.6)], [at(0.5, 0.5)], [at(0.5, 0.4)]]);
  assert.ok((await scrolled()) > before, "one finger scrolls");
  assert.deepEqual(complaints, []);
  await page.close();
});

test("nodes beyond the first page are reached", { skip }, async () => {
  const { page } = await browser.open(halo4096());
  await page.getByRole("button", { name: "Next nodes" }).click();
  assert.match((await page.locator("#machine").textContent())!, /nodes 17 to 32 of 64/);
  await page.close();
});

test("pages with partners of a rank are marked, and chosen directly", { skip }, async () => {
  const report = halo4096();
  const { placements, pairs } = await openReport(report);
  const { page } = await browser.open(report);
  // A rank on the first page with partners on another one.
  const best = placements.find(({ view }) => view.role === "best")!;
  const rank = Array.from({ length: 4096 }, (_, rank) => rank).find((rank) => {
    const pages = new Set(pairs!.partners(rank).map((one) => best.node[one.rank] >> 4));
    return best.node[rank] < 16 && pages.size > 1;
  })!;
  const nodes = new Set(pairs!.partners(rank).map((one) => best.node[one.rank]));
  const machine = page.locator("#machine");
  await machine.locator(`[data-rank='${rank}']`).first().click();
  assert.equal(await machine.locator("[data-partner]").count(), nodes.size);
  const links = machine.locator(".elsewhere button");
  assert.equal(await links.count(), new Set([...nodes].map((node) => node >> 4)).size);
  const other = (await links.and(machine.locator("[aria-current='false']")).first().textContent())!;
  assert.match(other, /^nodes \d+ to \d+: \d+ partners?, [\d.]+ [kM]B$/);
  await links.filter({ hasText: other }).click();
  assert.equal(await machine.locator(".elsewhere [aria-current='true']").textContent(), other);
  assert.ok((await machine.locator("[data-rank] rect[fill^='rgb(']").count()) > 0, "the partners there are lit");
  assert.match((await machine.locator(".readout").textContent())!, new RegExp(`^Rank ${rank} `));
  // Away from the ranks that the pointer could be over now.
  await page.mouse.move(0, 0);
  await machine.locator(".machine").focus();
  await page.keyboard.press("Escape");
  assert.equal(await machine.locator("[data-partner]").count(), 0);
  await page.close();
});

test("one node with thousands of cores is shown by its NUMA nodes", { skip }, async () => {
  const { page, complaints } = await browser.open(oneNode());
  const machine = page.locator("#machine");
  assert.match((await machine.textContent())!, /parts 1 to 4 of 16/);
  assert.ok((await machine.locator(".machine svg rect").count()) < 1100, "no more than a page can have");
  assert.equal(await machine.locator("[data-site]").count(), 16);
  await machine.locator("[data-rank='5']").first().hover();
  assert.match((await machine.locator(".readout").textContent())!, /^Rank 5 on n0, cores L#\d+, \d+, NUMA node L#0/);
  await machine.getByRole("button", { name: "Next nodes" }).click();
  assert.match((await machine.textContent())!, /parts 5 to 8 of 16/);
  assert.match((await machine.locator(".machine svg").textContent())!, /n0 \(a part\)/);
  assert.deepEqual(complaints, []);
  await page.close();
});

test("title, pages and table follow the placement that is shown", { skip }, async () => {
  // As many cores as a page has: a rank that is bound to none needs a second one.
  const shape = { nodes: 2, numas: 1, cores: 512, nics: 1 };
  const place = Array.from({ length: 16 }, (_, rank) => 64 * rank);
  const bound = placement("best", "bound", shape, place, []);
  const loose = { ...placement("default", "loose", shape, place, []), core: pack(place.map((at, rank) => (rank === 3 ? UNBOUND : at % 512))) };
  const { page, complaints } = await browser.open({ ...halo16(), machine: machine(shape), placements: [loose, bound], devices: undefined });
  const part = page.locator("#machine");
  const chosen = part.getByLabel("Placement:");
  const next = part.getByRole("button", { name: "Next nodes" });
  const state = async () => [await part.locator("figcaption strong").textContent(), await next.count(), await part.locator("[data-site]").count()];
  assert.deepEqual(await state(), ["Where the ranks run: bound", 0, 0]);
  await part.getByLabel("Job:").selectOption("2");
  await part.locator("[data-rank='5']").first().hover();
  await page.mouse.move(0, 0);
  await chosen.selectOption("0");
  await drawn(page);
  assert.deepEqual(await state(), ["Where the ranks run: loose", 1, 2]);
  assert.match((await part.locator("figcaption").textContent())!, /The small squares are all nodes/);
  assert.equal(await part.locator(".readout").textContent(), "");
  assert.equal(await part.getByLabel("Job:").inputValue(), "2");
  assert.ok(await chosen.evaluate((self) => self === document.activeElement), "the keyboard stays where it was");
  await part.locator("summary").click();
  // The table is made when the browser tells that it is open.
  await part.locator("details table").waitFor();
  assert.match((await part.locator("details").textContent())!, /n0, bound to no core/);
  await next.click();
  assert.match((await part.textContent())!, /node 2 of 2/);
  await chosen.selectOption("1");
  await drawn(page);
  assert.deepEqual(await state(), ["Where the ranks run: bound", 0, 0]);
  assert.deepEqual(complaints, []);
  await page.close();
});

test("names from a profile make no element and run no script", { skip }, async () => {
  const { page, complaints, requests } = await browser.open(hostile());
  for (const details of await page.locator("main summary").all()) await details.click();
  for (const cell of await page.locator("#machine [data-rank]").all()) await cell.hover();
  await drawn(page);
  assert.equal(await page.evaluate(() => "stolen" in window), false);
  assert.equal(await page.locator("#page img, #page script, #page iframe").count(), 0);
  assert.ok((await page.locator("#tables").textContent())!.includes(HOSTILE));
  assert.deepEqual([complaints, requests], [[], []]);
  await page.close();
});

test("strategies are sorted by a column, unknown ones last", { skip }, async () => {
  const { page } = await browser.open(halo16());
  const names = () => page.locator("#strategies tbody th").evaluateAll((all) => all.map((one) => one.textContent!.split(":")[0]));
  await page.locator("#strategies th button", { hasText: "Gain" }).click();
  assert.equal((await names())[0], "random");
  await page.locator("#strategies th button", { hasText: "Gain" }).click();
  assert.match((await names())[0], /^drb/);
  assert.equal(await page.locator("#strategies th[aria-sort='descending']").count(), 1);
  await page.close();
});

test("commands are copied, figures and data are saved", { skip }, async () => {
  const report = halo16();
  const { page, complaints } = await browser.open(report);
  await page.getByRole("button", { name: "Copy: Start the program" }).click();
  await page.getByText("Copied").waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), report.commands[0].text);
  const figures = await page.locator("figure").count();
  for (const [kind, begin] of [["SVG", "<svg"], ["PNG", "\x89PNG"], ["CSV", ""]]) {
    const buttons = page.getByRole("button", { name: new RegExp(`^Save as ${kind}: `) }).and(page.locator("figure > .save button"));
    assert.equal(await buttons.count(), figures, kind);
    for (const button of await buttons.all()) {
      const text = await saved(page, button);
      assert.ok(text.startsWith(begin) && text.length > 50, `${kind}: ${text.slice(0, 40)}`);
      assert.ok(kind !== "SVG" || !/var\(--/.test(text), "colours are written into the file");
    }
  }
  const json = await saved(page, page.getByRole("button", { name: "Save the data of the page as JSON" }));
  assert.deepEqual(JSON.parse(Buffer.from(json, "latin1").toString("utf8")), JSON.parse(JSON.stringify(report)));
  assert.deepEqual(complaints, []);
  await page.close();
});

async function saved(page: Page, button: Locator): Promise<string> {
  const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
  // Chromium lets a page save ten files per second, and drops further ones.
  await page.waitForTimeout(110);
  return readFileSync(await download.path(), "latin1");
}

test("axe finds nothing to object to, light and dark", { skip }, async () => {
  const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  const openings: [() => Report, Opening][] = [
    [halo16, {}],
    [halo16, { scheme: "dark" }],
    [counters, { width: 360 }],
    [pair, { scheme: "dark" }],
  ];
  for (const [make, opening] of openings) {
    const { page } = await browser.open(make(), opening);
    await page.evaluate(axe);
    const found = await page.evaluate(async () => {
      const run = (window as unknown as { axe: { run(): Promise<{ violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }> } }).axe;
      return (await run.run()).violations.map(({ id, nodes }) => `${id}: ${nodes[0].html} ${nodes[0].failureSummary}`);
    });
    assert.deepEqual(found, [], `${make.name} ${JSON.stringify(opening)}`);
    await page.close();
  }
});

test("the page is not wider than a phone", { skip }, async () => {
  for (const make of [halo16, halo4096, oneNode, withoutTiming, roomy, pair, counters, hostile]) {
    const { page } = await browser.open(make(), { width: 360 });
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360);
    await page.close();
  }
});

test("labels of figures lie neither on each other nor outside of the page", { skip }, async () => {
  for (const width of [360, 390, 768, 1280]) {
    for (const make of [halo16, halo4096, oneNode, roomy, counters]) {
      const { page } = await browser.open(make(), { width });
      const found = await page.evaluate(clashes);
      assert.deepEqual(found, [], `${make.name} at ${width}`);
      await page.close();
    }
  }
});

/** Texts of drawings that share room with another one, or that leave their section. */
function clashes(): string[] {
  // Boxes of letters have air around them.
  const air = 1.5;
  return [...document.querySelectorAll("main svg")].flatMap((drawing) => {
    const section = drawing.closest("section")!.getBoundingClientRect();
    const texts = [...drawing.querySelectorAll("text")].map((text) => ({ name: text.textContent!, box: text.getBoundingClientRect() })).filter(({ name }) => name !== "");
    const outside = texts.filter(({ box }) => box.left < section.left || box.right > section.right).map(({ name }) => `${name} is outside`);
    const pairs = texts.flatMap((a, i) => texts.slice(i + 1).map((b) => [a, b]));
    const share = ([a, b]: typeof texts) =>
      Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left) > air && Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top) > air;
    return [...outside, ...pairs.filter(share).map(([a, b]) => `${a.name} on ${b.name}`)];
  });
}

test("names of facts leave room for their values on a phone", { skip }, async () => {
  const { page } = await browser.open(roomy(), { width: 360 });
  const widths = await page.locator("#facts dd").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().width));
  assert.ok(Math.min(...widths) > 150, widths.join());
  await page.close();
});

test("what is to be typed is code, and no sentence has backticks", { skip }, async () => {
  const { page } = await browser.open(roomy());
  assert.equal((await page.locator("main").textContent())!.includes("`"), false);
  const codes = (part: string) => page.locator(`${part} code`).allTextContents();
  assert.deepEqual(await codes("#verdict h2"), ["blocked"]);
  for (const part of ["#verdict li", ".remedy"]) assert.match((await codes(part))[0], /^rankwright lab exec .*cluster\.toml$/);
  for (const part of ["#facts", "#devices .note", "#missing", "#devices td", "#strategies .reason", "#timeline p"]) assert.equal((await codes(part)).length > 0, true, part);
  await page.close();
});

test("axes of time end with the run, whatever is computed after it", { skip }, async () => {
  const { page } = await browser.open(roomy());
  assert.match((await page.locator("#timeline").textContent())!, /over 1\.30 s.*send until 5\.00 s at least, after the end of the run/);
  const ticks = await page.locator("#timeline svg text").evaluateAll((all) => all.map((one) => /^([\d.]+) s$/.exec(one.textContent!)?.[1]).filter((time) => time !== undefined));
  assert.equal(Math.max(...ticks.map(Number)), 1.2);
  const map = page.locator("#timeline .heatmap").first();
  await pointAt(page, map, 129, 0, 130, 8);
  assert.match((await map.locator(".tip").textContent())!, /1\.29 s to 1\.30 s/);
  await page.close();
  // One bin that is longer than the run.
  const coarse = roomy();
  Object.assign(coarse.timeline!, { span_s: 0.0042 });
  const other = await browser.open(coarse);
  await pointAt(other.page, other.page.locator("#timeline .heatmap").first(), 0, 0, 1, 8);
  assert.match((await other.page.locator("#timeline .tip").first().textContent())!, /0 s to 4\.20 ms/);
  await other.page.close();
});

test("the keyboard reaches everything that can be used, in order", { skip }, async () => {
  const { page } = await browser.open(pair());
  await reachesAll(page);
  await page.close();
  const other = await browser.open(halo16());
  await reachesAll(other.page);
  await other.page.close();
});

async function reachesAll(page: Page) {
  const usable = "a[href], button:not(:disabled), select, summary, [tabindex='0']";
  const wanted = await page.locator(usable).evaluateAll((all) => {
    const visible = all.filter((one) => one.checkVisibility());
    visible.forEach((one, i) => one.setAttribute("data-turn", String(i)));
    return visible.length;
  });
  for (let i = 0; i < wanted; i++) {
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("data-turn")), String(i));
  }
}

test("the switch changes the colours, and paper is light", { skip }, async () => {
  const { page } = await browser.open(halo16(), { scheme: "dark" });
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
  assert.equal(await theme(), "dark");
  await page.locator("header select").selectOption("1");
  assert.equal(await theme(), "light");
  await page.locator("header select").selectOption("2");
  const seen = page.evaluate(() => new Promise((done) => window.addEventListener("afterprint", () => done(true), { once: true })));
  const during = page.evaluate(() => new Promise((done) => window.addEventListener("beforeprint", () => done(document.documentElement.dataset.theme), { once: true })));
  const pdf = await page.pdf({ format: "A4" });
  assert.equal(await during, "light");
  assert.equal(await seen, true);
  assert.equal(await theme(), "dark");
  assert.ok(pdf.length > 10_000);
  await page.close();
});

test("paper has files in columns, digests in full and tables that fit", { skip }, async () => {
  const report = halo16();
  const digest = `sha256:${"0123456789abcdef".repeat(4)}`;
  report.facts.push({ group: "report", name: "digest of the cluster", value: digest });
  const { page } = await browser.open(report, { width: 718 });
  await page.emulateMedia({ media: "print", colorScheme: "light" });
  const [height, line] = await page.locator(".listing pre code").evaluate((code) => [code.clientHeight, parseFloat(getComputedStyle(code).lineHeight)]);
  assert.ok(height < 6 * line, `16 lines in ${height} px, a line has ${line} px`);
  const shown = page.locator("#facts .digest");
  assert.equal(await shown.innerText(), "");
  assert.equal(await shown.evaluate((one) => getComputedStyle(one, "::after").content), `"${digest}"`);
  const sizes = await page.locator("#strategies :is(td, th, th button, .role)").evaluateAll((all) => all.map((one) => getComputedStyle(one).fontSize));
  assert.deepEqual([...new Set(sizes)], ["10px"]);
  const [table, room] = await page.locator("#strategies table").evaluate((one) => [one.clientWidth, one.closest("section")!.clientWidth]);
  assert.ok(table <= room, `${table} px in ${room} px`);
  await page.close();
});

test("the sentence and the caption of the machine say what is known of it", { skip }, async () => {
  const counted = counters();
  counted.machine!.types.forEach((type) => (type.cores = 0));
  const { page } = await browser.open(counted);
  assert.match((await page.locator("#machine p").first().textContent())!, /: 4 nodes, 2 NICs/);
  await page.close();
  const grouped = halo16();
  grouped.traffic!.aggregated = true;
  const other = await browser.open(grouped);
  const caption = (await other.page.locator("#machine figcaption").textContent())!;
  assert.match(caption, /with the number of the node on the first one that has ranks/);
  // How to use it is beside the figure: paper leaves it out.
  assert.match((await other.page.locator("#machine .help").textContent())!, /^Point at a number/);
  await other.page.close();
});

test("runs are shown by program, beside what was predicted", { skip }, async () => {
  const report = runTimes();
  const { page } = await browser.open(report);
  const figures = page.locator("#runs figure");
  assert.equal(await figures.count(), 2);
  const dots = figures.first().locator("svg circle");
  assert.equal(await dots.count(), report.measured!.length);
  const each = figures.last();
  assert.equal(await each.locator("svg circle").count(), 15, "three ways of the first program, five runs each");
  await each.locator("select").selectOption({ label: "lammps" });
  assert.equal(await each.locator("svg circle").count(), 10);
  await page.close();
  const alone = { ...report, measured: report.measured!.slice(0, 2).map((way) => ({ ...way, program: "", predicted_s: null })) };
  const without = await browser.open(alone);
  assert.equal(await without.page.locator("#runs figure").count(), 1, "nothing was predicted");
  assert.equal(await without.page.locator("#runs select").count(), 0, "one program");
  await without.page.close();
});

test("the default that wins is called the default, too", { skip }, async () => {
  const report = halo16();
  Object.assign(report.strategies!, { best: "blocked", default: "blocked", rows: [{ ...report.strategies!.rows[1], name: "blocked" }] });
  const { page } = await browser.open(report);
  assert.equal(await page.locator("#strategies .role").textContent(), "best, launcher's default");
  await page.close();
});

test("data that cannot be read is said in words", { skip }, async () => {
  const broken = halo16();
  broken.traffic!.bytes.length += 1;
  const { page } = await browser.open(broken);
  assert.match((await page.locator("main").textContent())!, /cannot be shown.*traffic\.bytes: it holds 384 bytes, expected 392/);
  await page.close();
});
