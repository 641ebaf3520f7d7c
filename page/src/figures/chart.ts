// Charts by Observable Plot, redrawn when the width or the theme changes.

import { plot, type PlotOptions } from "@observablehq/plot";
import { el, onWidth } from "../dom.ts";
import { onTheme } from "../theme.ts";
import { roundTicks } from "../words/scales.ts";

export class Chart {
  readonly element: HTMLElement;
  private width = 0;
  private shown: SVGSVGElement | null = null;

  /** `label` is for those who do not see the chart; `options` are made for a width in pixels. */
  constructor(
    private readonly label: string,
    private readonly options: (width: number) => PlotOptions,
  ) {
    this.element = el("div", { class: "chart" });
    onTheme(() => this.redraw());
    onWidth(this.element, (width) => {
      this.width = width;
      this.redraw();
    });
  }

  redraw(): void {
    if (this.width === 0) return;
    // A class name of our own: Plot's default is random, and saved pictures should not differ.
    const made = plot({ className: "plot", width: this.width, style: { background: "none", overflow: "visible" }, ...this.options(this.width) });
    made.setAttribute("role", "img");
    made.setAttribute("aria-label", this.label);
    // Plot names its groups, which have no role that could carry a name.
    for (const part of made.querySelectorAll("[aria-label]")) part.removeAttribute("aria-label");
    this.shown = made as SVGSVGElement;
    this.element.replaceChildren(made);
  }

  drawing(): SVGSVGElement {
    return this.shown!;
  }
}

/** Pixels from one label below a chart to the next, at least. */
const APART = 76;

/** Numbers below a chart from nothing to `most`, over a length in pixels. */
export function ticksBelow(most: number, length: number): number[] {
  return roundTicks(0, most, Math.max(1, Math.floor(length / APART)));
}

/** What a colour or a line of a drawing stands for. */
export interface Key {
  name: string;
  colour: string;
  sign: "bar" | "line" | "dashed" | "dotted" | "tick" | "dot" | "ring";
}

/** A legend of words with the signs of the chart before them. */
export function keys(entries: Key[]): HTMLElement {
  return el(
    "ul",
    { class: "keys" },
    ...entries.map(({ name, colour, sign }) => el("li", {}, el("span", { class: `key ${sign}`, style: `--key: ${colour}` }), name)),
  );
}
