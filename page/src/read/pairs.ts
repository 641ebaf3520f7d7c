// Pairs of ranks that communicate, by sender and by receiver.

import type { Traffic } from "../data.ts";
import { fromLogarithm, unpack, type Numbers } from "./unpack.ts";

/** What a block of the matrix holds. */
export interface Sum {
  pairs: number;
  bytes: number;
  largest: number;
  messages: number | null;
}

export interface Partner {
  rank: number;
  sent: number;
  received: number;
}

export class Pairs {
  readonly ranks: number;
  readonly length: number;
  readonly rounded: boolean;
  /** The pairs of sender s are at first[s] .. first[s + 1]. */
  readonly first: Uint32Array;
  private received: { first: Uint32Array; pair: Uint32Array } | null = null;

  private constructor(
    readonly sources: Numbers,
    readonly destinations: Numbers,
    private readonly values: Numbers,
    readonly messages: Numbers | null,
    traffic: Traffic,
  ) {
    this.ranks = traffic.ranks;
    this.length = sources.length;
    this.rounded = traffic.rounded;
    this.first = starts(sources, traffic.ranks);
  }

  static async open(traffic: Traffic): Promise<Pairs> {
    const [sources, destinations, values, messages] = await Promise.all([
      unpack(traffic.sources, "traffic.sources"),
      unpack(traffic.destinations, "traffic.destinations"),
      unpack(traffic.bytes, "traffic.bytes"),
      traffic.messages ? unpack(traffic.messages, "traffic.messages") : null,
    ]);
    return new Pairs(sources, destinations, values, messages, traffic);
  }

  bytes(pair: number): number {
    return this.rounded ? fromLogarithm(this.values[pair]) : this.values[pair];
  }

  /** Index of the pair, or -1 if the sender sends nothing to the receiver. */
  find(sender: number, receiver: number): number {
    let low = this.first[sender];
    let high = this.first[sender + 1] - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const there = this.destinations[middle];
      if (there === receiver) return middle;
      if (there < receiver) low = middle + 1;
      else high = middle - 1;
    }
    return -1;
  }

  /** The least and the most bytes of a pair; null without pairs. */
  extent(): [number, number] | null {
    let least = Infinity;
    let most = 0;
    for (let i = 0; i < this.length; i++) {
      const value = this.values[i];
      if (value > 0 && value < least) least = value;
      if (value > most) most = value;
    }
    if (most === 0) return null;
    return this.rounded ? [fromLogarithm(least), fromLogarithm(most)] : [least, most];
  }

  /** All pairs from some ranks to others. */
  sum(senders: ArrayLike<number>, receivers: ArrayLike<number>): Sum {
    const sum: Sum = { pairs: 0, bytes: 0, largest: 0, messages: this.messages ? 0 : null };
    for (let i = 0; i < senders.length; i++) {
      for (let j = 0; j < receivers.length; j++) {
        const pair = this.find(senders[i], receivers[j]);
        if (pair < 0) continue;
        const value = this.bytes(pair);
        sum.pairs += 1;
        sum.bytes += value;
        sum.largest = Math.max(sum.largest, value);
        if (this.messages) sum.messages = (sum.messages ?? 0) + this.messages[pair];
      }
    }
    return sum;
  }

  /** All that a rank sends to or receives from, the most bytes first. */
  partners(rank: number): Partner[] {
    const found = new Map<number, Partner>();
    const of = (other: number) => {
      const known = found.get(other) ?? { rank: other, sent: 0, received: 0 };
      found.set(other, known);
      return known;
    };
    for (let pair = this.first[rank]; pair < this.first[rank + 1]; pair++) {
      of(this.destinations[pair]).sent += this.bytes(pair);
    }
    const { first, pair } = this.byReceiver();
    for (let i = first[rank]; i < first[rank + 1]; i++) of(this.sources[pair[i]]).received += this.bytes(pair[i]);
    return [...found.values()].sort((a, b) => b.sent + b.received - a.sent - a.received || a.rank - b.rank);
  }

  /** The pairs with the most bytes. */
  largest(wanted: number): number[] {
    const top: number[] = [];
    for (let pair = 0; pair < this.length; pair++) {
      const value = this.values[pair];
      if (top.length === wanted && value <= this.values[top[wanted - 1]]) continue;
      let at = top.length;
      while (at > 0 && this.values[top[at - 1]] < value) at -= 1;
      top.splice(at, 0, pair);
      if (top.length > wanted) top.pop();
    }
    return top;
  }

  private byReceiver() {
    if (this.received) return this.received;
    const first = new Uint32Array(this.ranks + 1);
    for (let i = 0; i < this.length; i++) first[this.destinations[i] + 1] += 1;
    for (let rank = 0; rank < this.ranks; rank++) first[rank + 1] += first[rank];
    const next = first.slice();
    const pair = new Uint32Array(this.length);
    for (let i = 0; i < this.length; i++) pair[next[this.destinations[i]]++] = i;
    this.received = { first, pair };
    return this.received;
  }
}

function starts(sources: Numbers, ranks: number): Uint32Array {
  const first = new Uint32Array(ranks + 1);
  for (let i = 0; i < sources.length; i++) first[sources[i] + 1] += 1;
  for (let rank = 0; rank < ranks; rank++) first[rank + 1] += first[rank];
  return first;
}
