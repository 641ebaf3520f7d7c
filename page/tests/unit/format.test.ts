import assert from "node:assert/strict";
import { test } from "node:test";
import { bytes, count, exactBytes, list, percent, plain, seconds, share, tenths, tickSeconds } from "../../src/words/format.ts";

test("bytes have decimal units and one decimal", () => {
  assert.deepEqual([0, 1, 999, 1000, 188_700_000, 999_949, 999_950, 4.2e18].map(bytes), ["0 B", "1 B", "999 B", "1.0 kB", "188.7 MB", "999.9 kB", "1.0 MB", "4.2 EB"]);
});

test("exact bytes have all digits and the unit", () => {
  assert.equal(exactBytes(12_345_678), "12 345 678 bytes (12.3 MB)");
  assert.equal(exactBytes(1), "1 byte");
});

test("numbers of five digits and more are grouped", () => {
  assert.deepEqual([7, 1024, 12345, -1234567].map(count), ["7", "1024", "12 345", "-1 234 567"]);
});

test("seconds take the unit that suits", () => {
  assert.deepEqual([0, 1.256, 0.0363, 4.2e-6, 12.34, 3600].map(seconds), ["0 s", "1.26 s", "36.3 ms", "4.20 µs", "12.3 s", "3600 s"]);
});

test("shares are percent, and small ones are not nothing", () => {
  assert.deepEqual([0, 0.69, 0.0123, 0.0004, -0.0004, 1].map(share), ["0 %", "69 %", "1.2 %", "< 0.1 %", "> -0.1 %", "100 %"]);
});

test("shares of a column have one decimal", () => {
  assert.deepEqual([0.5, 0.12345, -0.0001].map(tenths), ["50.0 %", "12.3 %", "0.0 %"]);
});

test("shares of a scale have the digits that they need", () => {
  assert.deepEqual([0, 0.5, 0.001, 0.00025].map(percent), ["0 %", "50 %", "0.1 %", "0.025 %"]);
});

test("ticks of a time axis share a unit", () => {
  assert.deepEqual([0, 0.5, 1].map(tickSeconds(2)), ["0 s", "0.5 s", "1 s"]);
  assert.deepEqual([0, 0.0005].map(tickSeconds(0.002)), ["0 ms", "0.5 ms"]);
});

test("numbers of tables and lists of words", () => {
  const mixed = [3, 0, 1.0234567, 1e9, 12345.6, 0.0123456, 1.5e-6, 1.288e-12];
  const shown = ["3.000", "0", "1.023", "1 000 000 000", "12 346", "0.01235", "0.000002", "0"];
  assert.deepEqual(mixed.map(plain(mixed)), shown);
  assert.deepEqual([3, 12345].map(plain([3, 12345])), ["3", "12 345"]);
  assert.equal(list(["a", "b", "c"]), "a, b and c");
});
