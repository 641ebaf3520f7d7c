import assert from "node:assert/strict";
import { test } from "node:test";
import { allToAll1024, halo16 } from "../../samples/reports.ts";
import { pack, traffic } from "../../samples/pack.ts";
import { open, parse, rankAt } from "../../src/read/open.ts";
import { Pairs } from "../../src/read/pairs.ts";
import { unpack } from "../../src/read/unpack.ts";

test("packed numbers of every type come back", async () => {
  for (const type of ["u8", "u16", "u32", "f32", "f64"] as const) {
    assert.deepEqual([...(await unpack(pack([0, 1, 2, 250], type), "list"))], [0, 1, 2, 250]);
  }
  assert.equal((await unpack(pack([]), "list")).length, 0);
});

test("lists of another length are refused by name", async () => {
  await assert.rejects(unpack({ ...pack([1, 2, 3]), length: 4 }, "traffic.bytes"), /traffic\.bytes: it holds 3 bytes, expected 4/);
  await assert.rejects(unpack({ ...pack([1, 2, 3]), length: 2 }, "traffic.bytes"), /more than the expected 2/);
});

test("pairs are found, summed and sorted", async () => {
  const pairs = await Pairs.open(
    traffic(4, [
      { from: 2, to: 0, bytes: 30, messages: 3 },
      { from: 0, to: 3, bytes: 7, messages: 1 },
      { from: 0, to: 2, bytes: 10, messages: 2 },
    ]),
  );
  assert.equal(pairs.bytes(pairs.find(0, 3)), 7);
  assert.equal(pairs.find(3, 0), -1);
  assert.deepEqual(pairs.sum([0, 2], [0, 2, 3]), { pairs: 3, bytes: 47, largest: 30, messages: 6 });
  assert.deepEqual(pairs.partners(0), [
    { rank: 2, sent: 10, received: 30 },
    { rank: 3, sent: 7, received: 0 },
  ]);
  assert.deepEqual(pairs.largest(2).map((pair) => pairs.bytes(pair)), [30, 10]);
  assert.deepEqual(pairs.extent(), [7, 30]);
});

test("rounded bytes are within 9 %", async () => {
  const report = allToAll1024();
  const pairs = await Pairs.open(report.traffic!);
  assert.ok(pairs.rounded && pairs.messages === null);
  let sum = 0;
  for (let i = 0; i < pairs.length; i++) sum += pairs.bytes(i);
  assert.ok(Math.abs(sum / report.traffic!.total_bytes - 1) < 0.01);
});

test("a placement's order is the reverse of its positions", async () => {
  const opened = await open(halo16());
  for (const placed of opened.placements) {
    rankAt(placed).forEach((rank, position) => assert.equal(placed.position[rank], position));
  }
});

test("a page without data or with data of another version says so", () => {
  assert.throws(() => parse("__REPORT_DATA__"), /no data/);
  assert.throws(() => parse(`{"version": 2}`), /version 2.*reads version 1/);
});
