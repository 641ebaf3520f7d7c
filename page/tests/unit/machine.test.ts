import assert from "node:assert/strict";
import { test } from "node:test";
import { pack } from "../../samples/pack.ts";
import { machine } from "../../samples/parts.ts";
import { CELL, chipText, nodeBox, numasOf } from "../../src/machine/layout.ts";
import { Pages } from "../../src/machine/pages.ts";
import { inhabitants, jobOf } from "../../src/machine/ranks.ts";
import { coresOf, UNBOUND, type Placed } from "../../src/read/open.ts";
import { ranges } from "../../src/words/format.ts";

test("boxes of a node do not overlap and stay inside, also on a phone", () => {
  const [type] = machine({ nodes: 1, numas: 4, cores: 24, nics: 8, gpus: 8 }).types;
  for (const room of [320, 700, 1200]) {
    const box = nodeBox(type, room, 5);
    assert.ok(box.width <= room, `${box.width} of ${room}`);
    const places = new Set(box.cores.map(({ x, y }) => `${x},${y}`));
    assert.equal(places.size, 96);
    for (const { x, y } of box.cores) {
      const inside = box.numas.filter((numa) => x >= numa.x && x + CELL <= numa.x + numa.width && y >= numa.y && y + CELL <= numa.y + numa.height);
      assert.equal(inside.length, 1);
    }
    assert.ok(box.chips.every((chip) => chip.x + chip.width <= box.width));
  }
});

test("a NUMA node that spans packages has a box in each, which says so", () => {
  const [type] = machine({ nodes: 1, numas: 1, cores: 4, nics: 0 }).types;
  const [whole] = type.packages[0].numa;
  const packages = [[0, 1], [2, 3]].map((cores) => ({ numa: [{ ...whole, cores }] }));
  assert.deepEqual(nodeBox({ ...type, packages }, 700, 0).numas.map(({ label }) => label), ["package 0 · NUMA 0", "package 1 · NUMA 0"]);
  assert.deepEqual(nodeBox(type, 700, 0).numas.map(({ label }) => label), ["NUMA 0 · 64.0 GB"]);
  assert.deepEqual(numasOf({ ...type, packages: [...packages, { numa: [{ ...whole, index: 1 }] }] }).map((one) => one.package), [0, 1, null]);
});

test("devices say which NUMA nodes they are at", () => {
  const device = { name: "mlx5_0", near: [2], bandwidth: null };
  assert.equal(chipText({ device, kind: "NIC" }), "NIC mlx5_0 at 2");
  assert.equal(chipText({ device: { ...device, name: "gpu0", near: [] }, kind: "GPU" }), "gpu0");
});

const numbers = (values: number[]) => Uint32Array.from(values);

/** A placement by node, first core and number of cores of each rank. */
function placed(node: number[], core: number[], cores: number[], listed: Placed["listed"] = null): Placed {
  const view = { role: "given" as const, name: "x", node: pack([]), core: pack([]), cores: pack([]), position: pack([]), inter_node_bytes: 0 };
  return { view, node: numbers(node), core: numbers(core), cores: numbers(cores), listed, position: numbers(node.map((_, rank) => rank)) };
}

test("ranks are found by core; several on a core, several cores of a rank, and none", () => {
  const [first, second] = inhabitants(placed([0, 0, 1, 1], [3, 3, 0, UNBOUND], [1, 1, 2, 1]), 2);
  assert.deepEqual([...first.onCore], [[3, [0, 1]]]);
  assert.deepEqual([...second.alsoOf], [[1, 2]]);
  assert.deepEqual(second.loose, [3]);
});

test("cores that do not follow each other are those of the list", () => {
  const two = placed([0, 0], [0, 4], [2, 2], { core: numbers([0, 2, 4, 6]), first: numbers([0, 2, 4]) });
  assert.deepEqual([0, 1].map((rank) => coresOf(two, rank)), [[0, 2], [4, 6]]);
  const [node] = inhabitants(two, 1);
  assert.deepEqual([...node.alsoOf], [[2, 0], [6, 1]]);
  assert.deepEqual([[0, 2], [0, 1, 2, 3, 8], [4, 5], [7]].map(ranges), ["0, 2", "0 to 3, 8", "4, 5", "7"]);
});

test("nodes fill pages; a node with too many cores is divided into its NUMA nodes", () => {
  const whole = new Pages(machine({ nodes: 64, numas: 4, cores: 16, nics: 1 }), [], placed([17], [5], [1]));
  assert.deepEqual([whole.count, whole.siteCount, whole.divided, whole.name(1)], [4, 64, false, "nodes 17 to 32"]);
  assert.equal(whole.pageOf[whole.siteOf[0]], 1);
  const large = machine({ nodes: 2, numas: 4, cores: 512, nics: 0 });
  const ranks = placed([0, 1, 1, 1], [0, 600, UNBOUND, 2047], [1, 1, 0, 1]);
  const divided = new Pages(large, inhabitants(ranks, 2), ranks);
  assert.deepEqual([divided.count, divided.siteCount, divided.name(0)], [5, 9, "parts 1 to 2"]);
  assert.deepEqual([...divided.siteOf], [0, 5, 8, 7]);
  assert.deepEqual(divided.parts(2).map(({ node, whole, numas }) => [node, whole, numas.map(({ index }) => index)]), [[1, false, [0, 1]]]);
  assert.deepEqual(divided.parts(4).map(({ loose }) => loose), [[2]]);
  assert.equal(divided.name(4), "part 9");
});

test("a NUMA node with too many cores, and too many ranks without a core, are divided too", () => {
  const one = machine({ nodes: 1, numas: 1, cores: 3000, nics: 0 });
  const cores = new Pages(one, [], placed([0], [2999], [1]));
  assert.deepEqual([cores.count, cores.siteOf[0]], [3, 2]);
  const small = machine({ nodes: 1, numas: 1, cores: 8, nics: 0 });
  const many = Array.from({ length: 2000 }, () => 0);
  const loose = placed(many, many.map(() => UNBOUND), many);
  const pages = new Pages(small, inhabitants(loose, 1), loose);
  assert.deepEqual([pages.count, pages.siteOf[1023], pages.siteOf[1999]], [3, 1, 2]);
});

test("ranks count over all jobs", () => {
  const jobs = [{ name: "a", first_rank: 0, ranks: 4 }, { name: "b", first_rank: 4, ranks: 2 }];
  assert.deepEqual([3, 4, 6].map((rank) => jobOf(rank, jobs)), [0, 1, -1]);
});
