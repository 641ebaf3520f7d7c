// Scales: from values to levels of colour and to ticks of axes.

/** Levels of colour: 0 is "nothing", 1 to 255 go from the least to the most. */
export const LEVELS = 255;

/** From values above 0 to levels 1 to 255, by their logarithm. */
export interface LogScale {
  least: number;
  most: number;
  level(value: number): number;
}

/**
 * The scale between two values; one value alone has the highest level. It is a decade wide at least: values that
 * hardly differ have nearly the same colour.
 */
export function logScale(smallest: number, most: number): LogScale {
  const least = smallest < most ? Math.min(smallest, most / 10) : smallest;
  const low = Math.log(least);
  const range = Math.log(most) - low;
  return {
    least,
    most,
    level: (value) => {
      if (!(value > 0)) return 0;
      if (!(range > 0)) return LEVELS;
      const share = (Math.log(value) - low) / range;
      return 1 + Math.round(Math.min(1, Math.max(0, share)) * (LEVELS - 1));
    },
  };
}

/** Ticks of a logarithmic scale: powers of ten, each thousand where they are many, and both ends. */
export function logTicks(least: number, most: number): number[] {
  const first = Math.ceil(Math.log10(least) - 1e-9);
  const last = Math.floor(Math.log10(most) + 1e-9);
  const step = Math.max(1, Math.ceil((last - first) / 4));
  const ticks = [];
  for (let power = first; power <= last; power += step) ticks.push(10 ** power);
  return ticks.length > 1 ? ticks : least === most ? [least] : [least, most];
}

/** Ticks of a logarithmic scale of few powers of ten: 1, 2 and 5 times each power. */
export function decimalTicks(least: number, most: number): number[] {
  const ticks = [];
  for (let power = Math.floor(Math.log10(least)); 10 ** power <= most; power++) ticks.push(...[1, 2, 5].map((factor) => factor * 10 ** power));
  return ticks.filter((tick) => tick >= least && tick <= most);
}

/** The end of a scale of shares: the largest, rounded up to 1, 2 or 5 times a power of ten, and at most 1. */
export function shareEnd(shares: Iterable<number>): number {
  let most = 0;
  for (const share of shares) if (share > most) most = share;
  if (!(most > 0 && most <= 0.5)) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  const factor = [1, 2, 5].find((factor) => most <= factor * power * 1.0000001) ?? 10;
  return Number((factor * power).toPrecision(3));
}

export interface Tick {
  at: number;
  label: string;
}

/** Ticks at round numbers between two numbers, about `wanted` of them. */
export function roundTicks(low: number, high: number, wanted: number): number[] {
  const raw = (high - low) / Math.max(1, wanted);
  if (!(raw > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 5].find((factor) => raw <= factor * power * 1.0000001) ?? 10);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) ticks.push(i * step + 0);
  return ticks;
}

/** Ticks at cells of an axis: every cell, every second, every fourth ..., about `wanted` of them. */
export function cellTicks(low: number, high: number, wanted: number): number[] {
  let step = 1;
  while ((high - low) / step > Math.max(1, wanted)) step *= 2;
  const ticks = [];
  for (let i = Math.ceil(low / step) * step; i < high; i += step) ticks.push(i);
  return ticks;
}
