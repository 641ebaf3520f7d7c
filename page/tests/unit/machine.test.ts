import assert from "node:assert/strict";
import { test } from "node:test";
import { pack } from "../../samples/pack.ts";
import { machine } from "../../samples/parts.ts";
import { CELL, chipText, nodeBox } from "../../src/machine/layout.ts";
import { inhabitants, jobOf } from "../../src/machine/ranks.ts";
import { UNBOUND } from "../../src/read/open.ts";

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

test("devices say which NUMA nodes they are at", () => {
  const device = { name: "mlx5_0", near: [2], bandwidth: null };
  assert.equal(chipText({ device, kind: "NIC" }), "NIC mlx5_0 at 2");
  assert.equal(chipText({ device: { ...device, name: "gpu0", near: [] }, kind: "GPU" }), "gpu0");
});

test("ranks are found by core; several on a core, several cores of a rank, and none", () => {
  const numbers = (values: number[]) => Uint32Array.from(values);
  const view = { role: "given" as const, name: "x", node: pack([]), core: pack([]), cores: pack([]), position: pack([]), inter_node_bytes: 0 };
  const [first, second] = inhabitants(
    { view, node: numbers([0, 0, 1, 1]), core: numbers([3, 3, 0, UNBOUND]), cores: numbers([1, 1, 2, 1]), position: numbers([0, 1, 2, 3]) },
    2,
  );
  assert.deepEqual([...first.onCore], [[3, [0, 1]]]);
  assert.deepEqual([...second.alsoOf], [[1, 2]]);
  assert.deepEqual(second.loose, [3]);
});

test("ranks count over all jobs", () => {
  const jobs = [{ name: "a", first_rank: 0, ranks: 4 }, { name: "b", first_rank: 4, ranks: 2 }];
  assert.deepEqual([3, 4, 6].map((rank) => jobOf(rank, jobs)), [0, 1, -1]);
});
