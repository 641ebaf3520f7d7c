// Debian's chromium, with the page filled by a sample.

import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium, type BrowserContext, type Page } from "playwright-core";
import { filled } from "../../samples/page.ts";
import type { Report } from "../../src/data.ts";

const CHROMIUM =
  process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/google-chrome"].find((path) => existsSync(path)) ?? "/usr/bin/chromium";
const PAGE = process.env.PAGE ?? resolve("../crates/rankwright/src/report/page/page.html");

const ARGUMENTS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Why there is no browser, or null. */
export function lacking(): string | null {
  return existsSync(CHROMIUM) ? null : `${CHROMIUM} is missing: install chromium`;
}

export interface Opening {
  width?: number;
  scheme?: "light" | "dark";
  touch?: boolean;
}

/** A page that is open, and what went wrong in it. */
export interface Shown {
  page: Page;
  /** Errors and warnings of the console, and exceptions. */
  complaints: string[];
  /** Addresses that the page asked for, besides itself. */
  requests: string[];
}

export class Browser {
  private readonly folder = mkdtempSync(join(tmpdir(), "rankwright-page-"));
  private context: BrowserContext | null = null;
  private files = 0;

  async start(): Promise<void> {
    this.context = await chromium.launchPersistentContext(join(this.folder, "profile"), {
      executablePath: CHROMIUM,
      args: ARGUMENTS,
      acceptDownloads: true,
      permissions: ["clipboard-read", "clipboard-write"],
    });
  }

  async open(report: Report, { width = 1280, scheme = "light", touch = false }: Opening = {}): Promise<Shown> {
    const page = await this.context!.newPage();
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
    if (touch) {
      const session = await page.context().newCDPSession(page);
      await session.send("Emulation.setTouchEmulationEnabled", { enabled: true, maxTouchPoints: 2 });
    }
    const file = join(this.folder, `${this.files++}.html`);
    writeFileSync(file, filled(PAGE, report));
    const address = pathToFileURL(file).href;
    const shown: Shown = { page, complaints: [], requests: [] };
    page.on("console", (message) => ["error", "warning"].includes(message.type()) && shown.complaints.push(message.text()));
    page.on("pageerror", (error) => shown.complaints.push(String(error)));
    page.on("request", (request) => {
      const url = request.url();
      if (url !== address && !url.startsWith("data:") && !url.startsWith("blob:")) shown.requests.push(url);
    });
    await page.goto(address);
    await page.waitForSelector("#page[data-ready]");
    await drawn(page);
    return shown;
  }

  /** Opens the page of a server of this machine; what it asks of others is refused. */
  async visit(address: string): Promise<Page> {
    const page = await this.context!.newPage();
    const { origin } = new URL(address);
    await page.route(
      (url) => url.origin !== origin,
      (route) => route.abort(),
    );
    await page.goto(address);
    return page;
  }

  async stop(): Promise<void> {
    await this.context?.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Waits until what is to be drawn is drawn. */
export async function drawn(page: Page): Promise<void> {
  await page.evaluate(() => new Promise<void>((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))));
}

/** Fingers that are put down, moved and lifted: by step, the place of each in pixels of the window. */
export async function gesture(page: Page, steps: { x: number; y: number }[][]): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const send = (type: "touchStart" | "touchMove" | "touchEnd", points: { x: number; y: number }[]) =>
    session.send("Input.dispatchTouchEvent", { type, touchPoints: points.map((point, id) => ({ ...point, id })) });
  const [begin, ...rest] = steps;
  // One after the other, as fingers come.
  for (let fingers = 1; fingers <= begin.length; fingers++) await send("touchStart", begin.slice(0, fingers));
  for (const points of rest) await send("touchMove", points);
  await send("touchEnd", []);
  await session.detach();
  await drawn(page);
}
