// Packs numbers as the command line does.

import { deflateSync } from "node:zlib";
import type { Packed, Traffic } from "../src/data.ts";

const KINDS = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f32: Float32Array, f64: Float64Array };

/** Integers get the smallest type that fits, others f64. */
export function pack(values: ArrayLike<number>, type?: Packed["type"]): Packed {
  const kind = type ?? smallest(values);
  const array = KINDS[kind].from(values);
  const raw = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  return { type: kind, length: values.length, data: deflateSync(raw, { level: 9 }).toString("base64") };
}

function smallest(values: ArrayLike<number>): Packed["type"] {
  let most = 0;
  for (let i = 0; i < values.length; i++) most = Math.max(most, values[i]);
  return most < 256 ? "u8" : most < 65536 ? "u16" : "u32";
}

export interface Pair {
  from: number;
  to: number;
  bytes: number;
  messages: number;
}

/** Above this many pairs bytes are rounded logarithms. */
const EXACT = 200_000;

/** Pairs as traffic, sorted by sender, then receiver. */
export function traffic(ranks: number, pairs: Pair[]): Traffic {
  const sorted = [...pairs].sort((a, b) => a.from - b.from || a.to - b.to);
  const rounded = sorted.length > EXACT;
  const bytes = sorted.map((pair) => pair.bytes);
  return {
    ranks,
    sources: pack(sorted.map((pair) => pair.from)),
    destinations: pack(sorted.map((pair) => pair.to)),
    bytes: rounded ? pack(bytes.map((value) => Math.max(1, Math.round(4 * Math.log2(value)))), "u8") : pack(bytes, "f64"),
    rounded,
    ...(rounded ? {} : { messages: pack(sorted.map((pair) => pair.messages), "f64") }),
    total_bytes: bytes.reduce((a, b) => a + b, 0),
    total_messages: sorted.reduce((sum, pair) => sum + pair.messages, 0),
    collectives: true,
    aggregated: false,
  };
}

/** Numbers from 0 to 1 that are the same in every run. */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
