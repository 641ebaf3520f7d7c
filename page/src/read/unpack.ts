// Packed numbers: base64 of zlib of little-endian values.

import type { Packed } from "../data.ts";

export type Numbers = Uint8Array | Uint16Array | Uint32Array | Float32Array | Float64Array;

const KINDS = {
  u8: Uint8Array,
  u16: Uint16Array,
  u32: Uint32Array,
  f32: Float32Array,
  f64: Float64Array,
};

/** The numbers. Fails if there are more or fewer of them than `length` says. */
export async function unpack(packed: Packed, what: string): Promise<Numbers> {
  const Kind = KINDS[packed.type];
  if (!Kind) throw new Error(`${what}: the type of its numbers is "${packed.type}"; known are ${Object.keys(KINDS).join(", ")}`);
  const size = packed.length * Kind.BYTES_PER_ELEMENT;
  const raw = await inflate(fromBase64(packed.data), size, what);
  if (raw.byteLength !== size) {
    throw new Error(`${what}: it holds ${raw.byteLength} bytes, expected ${size} (${packed.length} numbers of type ${packed.type})`);
  }
  return new Kind(raw.buffer as ArrayBuffer, 0, packed.length);
}

/** Bytes of a pair whose logarithm was rounded: 2^(v / 4). */
export function fromLogarithm(v: number): number {
  return v === 0 ? 0 : 2 ** (v / 4);
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text);
  const raw = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) raw[i] = binary.charCodeAt(i);
  return raw;
}

async function inflate(packed: Uint8Array<ArrayBuffer>, size: number, what: string): Promise<Uint8Array> {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const out = new Uint8Array(size);
  let filled = 0;
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    if (filled + value.length > size) throw new Error(`${what}: it holds more than the expected ${size} bytes`);
    out.set(value, filled);
    filled += value.length;
  }
  return filled === size ? out : out.slice(0, filled);
}
