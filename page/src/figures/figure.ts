// The frame of a figure: title, caption, drawing, a table of its numbers, ways to save it.

import { button, el, freshId } from "../dom.ts";
import type { Key } from "./chart.ts";
import { png, save, standalone, type Picture } from "./download.ts";

export interface FigureOptions {
  title: string;
  /** Explains the drawing to someone who sees it for the first time. */
  caption: string;
  /** Name of its files without their ending. */
  file: string;
  content: Node;
  /** The drawing as it is shown now. */
  drawing(): SVGSVGElement;
  /** What its colours stand for, written into saved pictures. */
  keys?(): Key[];
  /** All its data. */
  csv(): string[];
  /** The same numbers for those who do not see the drawing; it is made when it is opened. */
  table?(): Node;
}

export function figure(options: FigureOptions): HTMLElement {
  const { title, file } = options;
  const id = freshId("figure");
  const caption = el("figcaption", {}, el("strong", { id }, title), " ", options.caption);
  const named = (what: string) => ({ "aria-label": `Save as ${what}: ${title}` });
  const picture = () => standalone(options.drawing(), title, options.keys?.() ?? []);
  const buttons = el(
    "div",
    { class: "buttons controls save" },
    button("SVG", () => save(`${file}.svg`, [picture().text], "image/svg+xml"), named("SVG")),
    button("PNG", () => void savePng(file, picture()), named("PNG")),
    button("CSV", () => save(`${file}.csv`, options.csv(), "text/csv"), named("CSV")),
  );
  const content = el("figure", { "aria-labelledby": id }, caption, options.content, buttons);
  if (options.table) content.append(disclosed(`Table: ${title}`, options.table));
  return content;
}

async function savePng(file: string, { text, width, height }: Picture) {
  save(`${file}.png`, [await png(text, width, height)], "image/png");
}

/** What is made when it is opened. */
export function disclosed(title: string, make: () => Node): HTMLElement {
  const details = el("details", { class: "controls" }, el("summary", {}, title));
  details.addEventListener("toggle", () => details.open && details.children.length === 1 && details.append(make()));
  return details;
}
