// A heat map: cells on a canvas, axes as SVG above it, zoom, a cursor for the keyboard.

import { button, el, freshId, onWidth, svg } from "../dom.ts";
import { onTheme, theme } from "../theme.ts";
import { palette } from "../words/colours.ts";
import { columnAxis, FONT, MARGIN, rowAxis, type Axis, type Plot } from "./axes.ts";
import { listen } from "./input.ts";
import { paint } from "./paint.ts";
import type { Layer } from "./pyramid.ts";
import { bounded, isWhole, showing, whole, zoomed, type Size, type View } from "./view.ts";

/** Cells column .. column + across and row .. row + down, as far as they exist. */
export interface Block {
  column: number;
  row: number;
  across: number;
  down: number;
}

export interface HeatmapOptions {
  /** What it shows, for those who do not see it. */
  label: string;
  layers: Layer[];
  columns: Axis;
  rows: Axis;
  /** Cells are squares, and the map as high as wide. Otherwise the height in pixels. */
  height: "square" | number;
  /** Room for the title and the labels of the rows, in pixels. */
  labels?: number;
  /** Where the columns end, if within the last one. */
  end?: number;
  /** What the cells of a block hold, line by line. */
  describe(block: Block): string[];
  /** The block under the pointer or the cursor has changed. */
  pointed?(block: Block | null): void;
  /** Another part is visible. */
  moved?(view: View): void;
}

const LABELS = 62;

export class Heatmap {
  readonly element: HTMLElement;
  readonly size: Size;
  view: View;
  /** The block under the cursor of the keyboard or the pointer. */
  block: Block | null = null;
  /** The level of detail that is drawn. */
  layer: Layer;
  plot: Plot = { left: LABELS, top: MARGIN.top, width: 0, height: 0 };
  readonly surface: HTMLElement;
  private readonly canvas = el("canvas", { "aria-hidden": "true" });
  private readonly overlay = svg("svg", { "aria-hidden": "true", "font-size": FONT });
  private readonly tip = el("div", { class: "tip", hidden: true });
  private readonly readout = el("p", { class: "readout", "aria-live": "polite" });
  private readonly reset: HTMLButtonElement;
  private mark: Block | null = null;
  private box: [number, number, number, number] | null = null;
  private scheduled = false;

  constructor(readonly options: HeatmapOptions) {
    this.size = { columns: options.end ?? options.layers[0].columns, rows: options.layers[0].rows };
    this.view = whole(this.size);
    this.layer = options.layers[0];
    const help = freshId("help");
    this.surface = el(
      "div",
      { class: "heatmap", tabindex: 0, role: "application", "aria-label": options.label, "aria-describedby": help },
      this.canvas,
      this.overlay,
      this.tip,
    );
    const zoom = (factor: number) => this.show(zoomed(this.view, this.size, factor, 0.5, 0.5));
    this.reset = button("All", () => this.show(whole(this.size)), { "aria-label": "Show all cells", disabled: true });
    this.element = el(
      "div",
      {},
      this.surface,
      el(
        "div",
        { class: "heatmap-foot" },
        el(
          "div",
          { class: "buttons controls" },
          button("+", () => zoom(2), { "aria-label": "Zoom in" }),
          button("−", () => zoom(0.5), { "aria-label": "Zoom out" }),
          this.reset,
        ),
        this.readout,
      ),
      el(
        "p",
        { class: "help controls", id: help },
        "Drag a box to zoom in, Shift and drag to move; on a touch screen two fingers zoom and move. After a click the wheel zooms. Keys: arrows, + and −, 0 for all.",
      ),
    );
    listen(this);
    onTheme(() => this.redraw());
    onWidth(this.surface, (width) => this.resize(width));
  }

  private resize(width: number) {
    // On narrow screens cells need the room more than labels.
    const left = Math.min(this.options.labels ?? LABELS, Math.max(LABELS, width / 3));
    const inner = Math.max(60, width - left - MARGIN.right);
    const height = this.options.height === "square" ? inner : this.options.height;
    this.plot = { ...this.plot, left, width: inner, height };
    const full = { width, height: height + MARGIN.top + MARGIN.bottom };
    this.overlay.setAttribute("viewBox", `0 0 ${full.width} ${full.height}`);
    // Shares instead of pixels: paper is narrower than the screen.
    this.surface.style.aspectRatio = `${full.width} / ${full.height}`;
    // At least two pixels per pixel of CSS, so that prints are sharp.
    const density = Math.max(2, window.devicePixelRatio);
    this.canvas.width = Math.round(inner * density);
    this.canvas.height = Math.round(height * density);
    Object.assign(this.canvas.style, {
      left: `${(100 * left) / full.width}%`,
      top: `${(100 * MARGIN.top) / full.height}%`,
      width: `${(100 * inner) / full.width}%`,
      height: `${(100 * height) / full.height}%`,
    });
    this.redraw(true);
  }

  /** Draws again with the next frame, or now. */
  redraw(now = false): void {
    if (now) return this.draw();
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      this.draw();
    });
  }

  private draw() {
    if (this.plot.width === 0) return;
    this.layer = paint(this.canvas, this.options.layers, this.view, palette(theme()));
    this.reset.disabled = isWhole(this.view, this.size);
    this.overlay.replaceChildren(...this.decoration());
  }

  private decoration(): SVGElement[] {
    const { x, y, width, height } = this.view;
    const { left, top } = this.plot;
    const parts: SVGElement[] = [
      svg("rect", { x: left, y: top, width: this.plot.width, height: this.plot.height, fill: "none", stroke: "currentColor" }),
      columnAxis(this.options.columns, this.plot, x, x + width),
      rowAxis(this.options.rows, this.plot, y, y + height),
    ];
    for (const marked of [this.mark, this.block]) {
      if (marked) parts.push(...this.outline(marked));
    }
    if (this.box) {
      const [a, b, c, d] = this.box;
      const attributes = { x: Math.min(a, c), y: Math.min(b, d), width: Math.abs(c - a), height: Math.abs(d - b) };
      parts.push(svg("rect", { ...attributes, fill: "currentColor", "fill-opacity": 0.12, stroke: "currentColor" }));
    }
    for (const part of parts) if (!part.hasAttribute("fill")) part.setAttribute("fill", "currentColor");
    return parts;
  }

  private outline(block: Block): SVGElement[] {
    const { left, top, width, height } = this.plot;
    const across = width / this.view.width;
    const down = height / this.view.height;
    const x = left + (block.column - this.view.x) * across;
    const y = top + (block.row - this.view.y) * down;
    const wide = block.across * across;
    const high = block.down * down;
    if (x + wide <= left || y + high <= top || x >= left + width || y >= top + height) return [];
    // Small blocks get a frame that can be seen.
    const w = Math.max(6, wide);
    const h = Math.max(6, high);
    const at = { x: x + (wide - w) / 2, y: y + (high - h) / 2, width: w, height: h, fill: "none" };
    return [
      svg("rect", { ...at, stroke: "#fff", "stroke-width": 4 }),
      svg("rect", { ...at, stroke: "#000", "stroke-width": 2 }),
    ];
  }

  /** Shows a part of the map. */
  show(view: View, tell = true): void {
    this.view = bounded(view, this.size);
    this.redraw();
    if (tell) this.options.moved?.(this.view);
  }

  /** Frames a block that another figure points at. */
  frame(block: Block | null): void {
    this.mark = block;
    this.redraw();
  }

  /** The box that is being dragged, in pixels of the drawing. */
  drag(box: [number, number, number, number] | null): void {
    this.box = box;
    this.redraw();
  }

  /** The block at a cell, as coarse as what is drawn. */
  blockAt(column: number, row: number): Block {
    const { across, down } = this.layer;
    return { column: Math.floor(column / across) * across, row: Math.floor(row / down) * down, across, down };
  }

  /** Points at a block; `at` is where its numbers are shown, in pixels of the drawing. */
  point(block: Block | null, at: [number, number] | null = null): void {
    const same = block && this.block && block.column === this.block.column && block.row === this.block.row;
    this.block = block;
    if (block && !same) {
      const lines = this.options.describe(block);
      this.tip.replaceChildren(...lines.map((text) => el("div", {}, text)));
      this.readout.textContent = `${lines.join("; ")}.`;
    }
    this.tip.hidden = !block || !at;
    if (at) {
      const room = this.surface.clientWidth;
      this.tip.style.left = at[0] > room / 2 ? "" : `${at[0] + 14}px`;
      this.tip.style.right = at[0] > room / 2 ? `${room - at[0] + 14}px` : "";
      this.tip.style.top = `${at[1] + 14}px`;
    }
    this.redraw();
    if (!same) this.options.pointed?.(block);
  }

  /** Moves the cursor of the keyboard by blocks. */
  step(columns: number, rows: number): void {
    const { across, down } = this.layer;
    const from = this.block ?? this.blockAt(this.view.x, this.view.y);
    const started = this.block !== null;
    const limit = (value: number, most: number) => Math.min(Math.ceil(most) - 1, Math.max(0, value));
    const column = limit(from.column + (started ? columns * across : 0), this.size.columns);
    const row = limit(from.row + (started ? rows * down : 0), this.size.rows);
    const view = showing(this.view, this.size, column, row);
    if (view.x !== this.view.x || view.y !== this.view.y) this.show(view);
    this.point(this.blockAt(column, row));
  }

  /** A drawing of what is visible, that needs no other file. */
  drawing(): SVGSVGElement {
    const copy = this.overlay.cloneNode(true) as SVGSVGElement;
    const { left, top, width, height } = this.plot;
    copy.prepend(
      svg("image", { href: this.canvas.toDataURL("image/png"), x: left, y: top, width, height, preserveAspectRatio: "none" }),
    );
    return copy;
  }
}
