// Pointer, wheel and keyboard of a heat map.

import type { Heatmap } from "./heatmap.ts";
import { carried, moved, whole, zoomed, type View } from "./view.ts";

type Point = [number, number];

export function listen(map: Heatmap): void {
  wheel(map);
  keyboard(map);
  pointers(map);
  touches(map);
}

/** Position of an event in pixels of the drawing. */
function place(map: Heatmap, event: MouseEvent): Point {
  const box = map.surface.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

/** Shares of the view at a position; null outside of the cells. */
function shares(map: Heatmap, [x, y]: Point): Point | null {
  const across = (x - map.plot.left) / map.plot.width;
  const down = (y - map.plot.top) / map.plot.height;
  return across >= 0 && across < 1 && down >= 0 && down < 1 ? [across, down] : null;
}

function wheel(map: Heatmap) {
  map.surface.addEventListener(
    "wheel",
    (event) => {
      // Unless the map was chosen, the wheel scrolls the page. Touch pads report a pinch with Ctrl.
      if (!event.ctrlKey && document.activeElement !== map.surface) return;
      const at = shares(map, place(map, event));
      if (!at) return;
      event.preventDefault();
      const lines = event.deltaMode === 1 ? 30 : 1;
      map.show(zoomed(map.view, map.size, 2 ** (-event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.003)), ...at));
    },
    { passive: false },
  );
}

function keyboard(map: Heatmap) {
  const arrows: Record<string, Point> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  map.surface.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const arrow = arrows[event.key];
    if (arrow && event.shiftKey) {
      map.show(moved(map.view, map.size, (arrow[0] * map.view.width) / 4, (arrow[1] * map.view.height) / 4));
    } else if (arrow) map.step(...arrow);
    else if (event.key === "+" || event.key === "=") map.show(zoomed(map.view, map.size, 2, ...middle(map)));
    else if (event.key === "-") map.show(zoomed(map.view, map.size, 0.5, ...middle(map)));
    else if (event.key === "0") map.show(whole(map.size));
    else if (event.key === "PageDown") map.step(0, 10);
    else if (event.key === "PageUp") map.step(0, -10);
    else if (event.key === "Escape") map.point(null);
    else return;
    event.preventDefault();
  });
}

/** What zooming by keys keeps where it is: the cursor, or the middle. */
function middle(map: Heatmap): Point {
  const { block, view } = map;
  if (!block) return [0.5, 0.5];
  const bounded = (share: number) => Math.min(1, Math.max(0, share));
  return [
    bounded((block.column + block.across / 2 - view.x) / view.width),
    bounded((block.row + block.down / 2 - view.y) / view.height),
  ];
}

function pointers(map: Heatmap) {
  const down = new Map<number, Point>();
  let start: { at: Point; pan: boolean } | null = null;
  /** Two fingers that zoom and move, from where they were put down. */
  let pinch: Pinch | null = null;
  /** Since two fingers were down, until all are up. */
  let pinched = false;
  map.surface.addEventListener("pointerdown", (event) => {
    const at = place(map, event);
    down.set(event.pointerId, at);
    if (down.size > 1) {
      pinch = down.size === 2 ? { view: map.view, from: [...down.values()] } : null;
      pinched = true;
      map.point(null);
    }
    if (event.pointerType === "mouse" && event.button === 0 && shares(map, at)) {
      start = { at, pan: event.shiftKey };
      map.surface.setPointerCapture(event.pointerId);
      map.surface.focus({ preventScroll: true });
      event.preventDefault();
    }
  });
  map.surface.addEventListener("pointermove", (event) => {
    const at = place(map, event);
    const before = down.get(event.pointerId);
    if (before) down.set(event.pointerId, at);
    if (before && pinch) map.show(between(map, pinch, [...down.values()]));
    else if (before && start?.pan) pan(map, before, at);
    else if (start && far(start.at, at)) map.drag([...start.at, ...inside(map, at)]);
    if (!start && !pinched) hover(map, at);
  });
  const end = (event: PointerEvent) => {
    const at = place(map, event);
    if (start && !start.pan && event.type === "pointerup" && far(start.at, at)) box(map, start.at, inside(map, at));
    else if (event.type === "pointerup" && !pinched) hover(map, at);
    if (start) map.drag(null);
    start = null;
    down.delete(event.pointerId);
    pinch = null;
    if (down.size === 0) pinched = false;
  };
  map.surface.addEventListener("pointerup", end);
  map.surface.addEventListener("pointercancel", end);
  map.surface.addEventListener("pointerleave", (event) => {
    if (event.pointerType === "mouse" && !start) map.point(null);
  });
}

/** One finger scrolls the page, two are for the map: the browser must not scroll with them. */
function touches(map: Heatmap) {
  const keep = (event: TouchEvent) => {
    if (event.touches.length > 1 && event.cancelable) event.preventDefault();
  };
  map.surface.addEventListener("touchstart", keep, { passive: false });
  map.surface.addEventListener("touchmove", keep, { passive: false });
}

function far(a: Point, b: Point): boolean {
  return Math.hypot(a[0] - b[0], a[1] - b[1]) > 4;
}

function inside({ plot }: Heatmap, [x, y]: Point): Point {
  return [
    Math.min(plot.left + plot.width, Math.max(plot.left, x)),
    Math.min(plot.top + plot.height, Math.max(plot.top, y)),
  ];
}

function hover(map: Heatmap, at: Point) {
  const share = shares(map, at);
  if (!share) return map.point(null);
  const { x, y, width, height } = map.view;
  map.point(map.blockAt(x + share[0] * width, y + share[1] * height), at);
}

function pan(map: Heatmap, from: Point, to: Point) {
  const across = map.view.width / map.plot.width;
  const down = map.view.height / map.plot.height;
  map.show(moved(map.view, map.size, (from[0] - to[0]) * across, (from[1] - to[1]) * down));
}

/** The view and the two fingers when a pinch began. */
interface Pinch {
  view: View;
  from: Point[];
}

/** The view in which what was between two fingers is between them now. */
function between({ plot, size }: Heatmap, { view, from }: Pinch, to: Point[]): View {
  const distance = ([a, b]: Point[]) => Math.max(8, Math.hypot(a[0] - b[0], a[1] - b[1]));
  const middle = ([a, b]: Point[]): Point => [((a[0] + b[0]) / 2 - plot.left) / plot.width, ((a[1] + b[1]) / 2 - plot.top) / plot.height];
  return carried(view, size, distance(to) / distance(from), middle(from), middle(to));
}

/** Zooms to a box. A square map takes the larger side, so that its cells stay squares. */
function box(map: Heatmap, a: Point, b: Point) {
  const { view, plot, options } = map;
  const column = (x: number) => view.x + ((x - plot.left) / plot.width) * view.width;
  const row = (y: number) => view.y + ((y - plot.top) / plot.height) * view.height;
  let width = Math.abs(column(a[0]) - column(b[0]));
  let height = Math.abs(row(a[1]) - row(b[1]));
  const x = Math.min(column(a[0]), column(b[0]));
  const y = Math.min(row(a[1]), row(b[1]));
  if (options.height === "square") width = height = Math.max(width, height);
  map.show({ x, y, width, height });
}
