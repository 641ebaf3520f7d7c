// The run on the axes of time. Sends are computed: with bandwidths that are too low they last longer than the run.

import type { Timeline } from "../data.ts";
import type { Numbers } from "../read/unpack.ts";

/** Where the run ends, in bins; `columns` bins were written. */
export function endInBins({ span_s: span, bin_s: bin }: Timeline, columns: number): number {
  const end = span / bin;
  return end > 0 && end < columns ? end : columns;
}

/** Bins of which a part is inside the run. */
export function binsOfRun(timeline: Timeline, columns: number): number {
  return Math.min(columns, Math.ceil(endInBins(timeline, columns) - 1e-6));
}

/** The end of the last bin with anything in it, if all of that bin is after the run; else null. */
export function sendsUntil(timeline: Timeline, busy: Numbers | null): number | null {
  const { devices, busy_rows: rows, bin_s: bin } = timeline;
  const width = busy && rows > 0 ? busy.length / rows : 0;
  const isUsed = (at: number) =>
    devices.some(({ bytes_out, bytes_in }) => bytes_out[at] > 0 || bytes_in[at] > 0) ||
    Array.from({ length: width > at ? rows : 0 }, (_, row) => busy![row * width + at]).some((value) => value > 0);
  const columns = Math.max(width, 0, ...devices.map(({ bytes_out, bytes_in }) => Math.max(bytes_out.length, bytes_in.length)));
  for (let at = columns - 1; at >= binsOfRun(timeline, columns); at--) if (isUsed(at)) return (at + 1) * bin;
  return null;
}
