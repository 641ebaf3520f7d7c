// Saving: text, pictures. Nothing leaves the page: files are made in it.

import { el, svg } from "../dom.ts";
import type { Key } from "./chart.ts";

/** Saves text or bytes as a file. */
export function save(name: string, parts: BlobPart[], type: string): void {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

const COLOURS = ["fill", "stroke", "color", "stop-color"] as const;

/** An SVG file, and its size in pixels. */
export interface Picture {
  text: string;
  width: number;
  height: number;
}

/** Height of a line of the heading of saved pictures. */
const LINE = 20;

/** An SVG file with a title and a legend. Colours and fonts that the page's style gives are written into it. */
export function standalone(shown: SVGSVGElement, title: string, keys: Key[]): Picture {
  const { width, height } = shown.viewBox.baseVal;
  const head = heading(title, keys, width);
  const inner = shown.cloneNode(true) as SVGSVGElement;
  for (const [name, value] of Object.entries({ y: head.height, width, height })) inner.setAttribute(name, String(value));
  inner.removeAttribute("aria-hidden");
  const whole = { width, height: height + head.height };
  const copy = svg(
    "svg",
    { ...whole, viewBox: `0 0 ${whole.width} ${whole.height}` },
    svg("rect", { ...whole, fill: "var(--surface)" }),
    head.drawing,
    inner,
  );
  const place = el("div", { class: "offscreen" }, copy);
  document.body.append(place);
  for (const element of copy.querySelectorAll<SVGElement>("*")) {
    for (const name of COLOURS) {
      const value = element.getAttribute(name);
      if (value && /var\(|currentColor/i.test(value)) {
        element.setAttribute(name, getComputedStyle(element).getPropertyValue(name));
      }
    }
  }
  const style = getComputedStyle(copy);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("color", style.color);
  copy.setAttribute("font-family", style.fontFamily);
  place.remove();
  return { text: new XMLSerializer().serializeToString(copy), ...whole };
}

/** Title and legend, in as many lines as they need. */
function heading(title: string, keys: Key[], width: number): { drawing: SVGGElement; height: number } {
  const drawing = svg("g", { fill: "currentColor", "font-size": 12 }, svg("text", { x: 8, y: 16, "font-weight": 600 }, title));
  let [x, y] = [8, LINE];
  for (const { name, colour, sign } of keys) {
    const room = 26 + name.length * 7.4 + 16;
    if (x > 8 && x + room > width) [x, y] = [8, y + LINE];
    drawing.append(signOf(sign, colour, x, y + 11), svg("text", { x: x + 26, y: y + 15 }, name));
    x += room;
  }
  return { drawing, height: y + (keys.length > 0 ? LINE : 0) + 6 };
}

/** The sign before a name of a legend, in the middle of its line. */
function signOf(sign: Key["sign"], colour: string, x: number, y: number): SVGElement {
  if (sign === "dot") return svg("circle", { cx: x + 10, cy: y, r: 5, fill: colour });
  if (sign === "ring") return svg("circle", { cx: x + 10, cy: y, r: 4, fill: "none", stroke: colour, "stroke-width": 2 });
  const dashes = { bar: null, tick: null, line: null, dashed: "7 4", dotted: "2 3" }[sign];
  return svg("path", { d: `M${x},${y}h20`, stroke: colour, "stroke-width": sign === "bar" ? 10 : 3, "stroke-dasharray": dashes });
}

/** The same as a PNG, with two pixels per pixel of the drawing. */
export async function png(file: string, width: number, height: number): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(file)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * 2);
  canvas.height = Math.round(height * 2);
  canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done, fail) => {
    canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error("the browser made no PNG"))), "image/png");
  });
}
