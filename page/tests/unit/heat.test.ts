import assert from "node:assert/strict";
import { test } from "node:test";
import type { Timeline } from "../../src/data.ts";
import { layerFor, pyramid } from "../../src/heat/pyramid.ts";
import { bounded, carried, moved, showing, whole, zoomed } from "../../src/heat/view.ts";
import { binsOfRun, endInBins, sendsUntil } from "../../src/timeline/run.ts";
import { blackOn, palette, viridis } from "../../src/words/colours.ts";
import { csv, csvLine } from "../../src/words/csv.ts";
import { cellTicks, LEVELS, logScale, logTicks, roundTicks, shareEnd } from "../../src/words/scales.ts";

test("a coarse cell has the highest of its cells, also at odd edges", () => {
  const layers = pyramid(3, 3, Uint8Array.from([1, 0, 9, 0, 2, 0, 0, 0, 5]), "both");
  assert.deepEqual(layers.map(({ columns, rows }) => [columns, rows]), [[3, 3], [2, 2], [1, 1]]);
  assert.deepEqual([...layers[1].values], [2, 9, 0, 5]);
  assert.deepEqual([...layers[2].values], [9]);
});

test("time is aggregated along columns only", () => {
  const layers = pyramid(4, 2, Uint8Array.from([1, 2, 3, 4, 5, 6, 7, 8]), "columns");
  assert.deepEqual([...layers[2].values], [4, 8]);
  assert.equal(layerFor(layers, 0.3, 0.1).across, 4);
});

test("the layer is the finest whose cells have a pixel", () => {
  const layers = pyramid(4096, 4096, new Uint8Array(4096 * 4096), "both");
  assert.equal(layerFor(layers, 1000 / 4096, 1000 / 4096).across, 8);
  assert.equal(layerFor(layers, 2, 2).across, 1);
});

test("zoom keeps the point under the pointer and stays inside", () => {
  const size = { columns: 100, rows: 100 };
  const near = zoomed(whole(size), size, 2, 0.5, 0.25);
  assert.deepEqual(near, { x: 25, y: 12.5, width: 50, height: 50 });
  assert.deepEqual(zoomed(near, size, 0.001, 0.3, 0.3), whole(size));
  assert.deepEqual(moved(near, size, 1000, -1000), { x: 50, y: 0, width: 50, height: 50 });
  assert.equal(zoomed(near, size, 1e9, 0.5, 0.5).width, 4);
  assert.deepEqual(bounded({ x: -5, y: 99, width: 2, height: 500 }, { columns: 3, rows: 3 }), { x: 0, y: 0, width: 3, height: 3 });
  assert.equal(showing(near, size, 90, 20).x, 41);
});

test("what is between two fingers stays between them", () => {
  const size = { columns: 100, rows: 100 };
  assert.deepEqual(carried(whole(size), size, 2, [0.5, 0.5], [0.25, 0.75]), { x: 37.5, y: 12.5, width: 50, height: 50 });
  assert.deepEqual(carried(whole(size), size, 0.5, [0.5, 0.5], [0.1, 0.1]), whole(size));
});

test("levels go by the logarithm, and nothing is level 0", () => {
  const scale = logScale(1, 1e6);
  assert.deepEqual([0, 1, 1e3, 1e6].map(scale.level), [0, 1, 128, LEVELS]);
  assert.equal(logScale(5, 5).level(5), LEVELS);
  const near = logScale(13_100_000, 13_100_024);
  assert.equal(near.level(13_100_000), near.level(13_100_024));
});

test("ticks are round numbers", () => {
  assert.deepEqual(logTicks(3, 4e7), [10, 1000, 100_000, 10_000_000].map((v) => v));
  assert.deepEqual(logTicks(1.3e6, 4e6), [1.3e6, 4e6]);
  assert.deepEqual(roundTicks(0, 1.9, 4), [0, 0.5, 1, 1.5]);
  assert.deepEqual(cellTicks(3, 20, 5), [4, 8, 12, 16]);
});

test("a scale of shares ends at a round number, however small the shares are", () => {
  assert.deepEqual([[0.6, 1.2], [0.5, 0.1], [0.0013], [0.07, Infinity], [0, 0], []].map(shareEnd), [1, 0.5, 0.002, 1, 1, 1]);
});

test("more is darker on light and brighter on dark; text on it can be read", () => {
  const light = (theme: "light" | "dark", at: number) => viridis(at, theme).reduce((a, b) => a + b);
  assert.ok(light("light", 0) > light("light", 1) && light("dark", 0) < light("dark", 1));
  assert.equal(palette("light")[0], 0);
  assert.ok(blackOn([253, 231, 37]) && !blackOn([68, 1, 84]));
});

test("CSV quotes what needs it and disarms formulas", () => {
  assert.equal(csvLine(['a "b", c', 5, null, "=1+1"]), '"a ""b"", c",5,,\'=1+1\r\n');
  assert.equal(csv(["a"], [[1], [2]]).join(""), "a\r\n1\r\n2\r\n");
});

test("bins after the run are told from those of it", () => {
  const device = { node: "n0", device: "eth0", bandwidth: 1, utilisation_out: 1, utilisation_in: 1, bytes_out: [1, 1, 1, 0, 2, 0], bytes_in: [] };
  const line = { span_s: 2.5, bin_s: 1, devices: [device], busy_rows: 0 } as unknown as Timeline;
  assert.deepEqual([endInBins(line, 6), binsOfRun(line, 6), sendsUntil(line, null)], [2.5, 3, 5]);
  assert.deepEqual([endInBins(line, 2), binsOfRun(line, 2)], [2, 2]);
  // Widths of bins are rounded.
  assert.equal(binsOfRun({ ...line, span_s: 3.0000000001 }, 6), 3);
  assert.equal(sendsUntil({ ...line, span_s: 5 }, null), null);
});
