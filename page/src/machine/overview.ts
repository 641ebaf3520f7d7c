// The map of all nodes above those of a page.

import { svg } from "../dom.ts";
import { theme } from "../theme.ts";
import { viridisCss } from "../words/colours.ts";

/** What the map of all sites shows. */
export interface Overview {
  /** By site: share of the colour scale, or -1 for none. */
  shares: Float64Array;
  /** The sites on the page that is shown: from, and the one behind the last. */
  shown: [number, number];
  /** The site of the rank that is chosen, and those with partners of it. */
  chosen: number | null;
  partners: Set<number>;
}

/** One square per site, coloured by bytes; a click chooses its page. Dots are where partners of the chosen rank are. */
export function overview({ shares, shown: [from, to], chosen, partners }: Overview, width: number): SVGSVGElement {
  const many = shares.length > 1024;
  const cell = many ? 7 : 12;
  const columns = Math.max(1, Math.floor(width / cell));
  const height = Math.ceil(shares.length / columns) * cell + 2;
  const out = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true", class: "overview" });
  shares.forEach((share, site) => {
    const shown = site >= from && site < to;
    const [x, y] = [(site % columns) * cell + 1, Math.floor(site / columns) * cell + 1];
    const fill = site === chosen ? "var(--text)" : share < 0 ? "var(--inset)" : viridisCss(share, theme());
    out.append(
      svg("rect", {
        "data-site": site,
        x,
        y,
        width: cell - 1.5,
        height: cell - 1.5,
        fill,
        stroke: shown ? "var(--text)" : "none",
        "stroke-width": 1.5,
      }),
    );
    if (!partners.has(site)) return;
    const middle = (cell - 1.5) / 2;
    out.append(
      svg("circle", { "data-partner": site, cx: x + middle, cy: y + middle, r: middle / 2, fill: "var(--surface)", stroke: "var(--text)", "pointer-events": "none" }),
    );
  });
  return out;
}
