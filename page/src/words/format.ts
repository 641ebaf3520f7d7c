// Numbers as the command line prints them: decimal units, a space before the unit.

const UNITS = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];

/** Bytes with a unit, such as "188.7 MB". */
export function bytes(value: number): string {
  let scaled = Math.abs(value);
  let unit = 0;
  // 999.95 kB would be printed as 1000.0 kB.
  while (scaled >= (unit === 0 ? 1000 : 999.95) && unit < UNITS.length - 1) {
    scaled /= 1000;
    unit += 1;
  }
  const sign = value < 0 ? "-" : "";
  return `${sign}${unit === 0 ? decimals(scaled, Number.isInteger(scaled) ? 0 : 1) : scaled.toFixed(1)} ${UNITS[unit]}`;
}

/** Bytes with all digits, and with a unit where that is shorter: "12 345 678 bytes (12.3 MB)". */
export function exactBytes(value: number): string {
  const all = `${count(value)} ${value === 1 ? "byte" : "bytes"}`;
  return Math.abs(value) < 1000 ? all : `${all} (${bytes(value)})`;
}

/** A whole number in groups of three digits. */
export function count(value: number): string {
  const digits = Math.abs(Math.round(value)).toString();
  const grouped = digits.length > 4 ? digits.replace(/\B(?=(\d{3})+$)/g, " ") : digits;
  return value < 0 ? `-${grouped}` : grouped;
}

/** Seconds with the unit that suits, such as "1.26 s" or "36 ms". */
export function seconds(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0 s";
  if (size >= 1000) return `${count(value)} s`;
  if (size >= 1) return `${significant(value, 3)} s`;
  if (size >= 1e-3) return `${significant(value * 1e3, 3)} ms`;
  if (size >= 1e-6) return `${significant(value * 1e6, 3)} µs`;
  if (size >= 1e-9) return `${significant(value * 1e9, 3)} ns`;
  return `${decimals(value * 1e9, 3)} ns`;
}

/** Writes ticks of a time axis that ends at `most`: all with the unit that suits it. */
export function tickSeconds(most: number): (value: number) => string {
  const [unit, scale] = most >= 1 ? ["s", 1] : most >= 1e-3 ? ["ms", 1e3] : ["µs", 1e6];
  return (value) => `${Number((value * scale).toPrecision(6))} ${unit}`;
}

/** A share from 0 to 1 in percent. */
export function share(value: number): string {
  const percent = value * 100;
  const size = Math.abs(percent);
  if (size !== 0 && size < 0.1) return percent < 0 ? "> -0.1 %" : "< 0.1 %";
  return `${size >= 10 || Number.isInteger(percent) ? decimals(percent, 0) : decimals(percent, 1)} %`;
}

/** A share from 0 to 1 in percent, of a scale: all digits that it needs, however small it is. */
export function percent(value: number): string {
  return `${Number((value * 100).toPrecision(3))} %`;
}

/** A share from 0 to 1 in percent with one decimal, as all cells of a column have it. */
export function tenths(value: number): string {
  const text = decimals(value * 100, 1);
  return `${text === "-0.0" ? "0.0" : text} %`;
}

/** Writes the numbers of a column: whole ones in full, others with four significant digits and at most six decimals. */
export function plain(numbers: number[]): (value: number) => string {
  const whole = numbers.every((value) => Number.isInteger(value));
  return (value) => {
    if (!Number.isFinite(value)) return String(value);
    if (whole || Math.abs(value) >= 1000) return count(value);
    return Math.abs(value) < 5e-7 ? "0" : significant(value, 4);
  };
}

/** Several words as a list: "a, b and c". */
export function list(words: string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`;
}

/** Ascending whole numbers, those that follow each other as ranges: "0 to 3, 8". */
export function ranges(numbers: number[]): string {
  const found: [number, number][] = [];
  for (const number of numbers) {
    const last = found[found.length - 1];
    if (last && number === last[1] + 1) last[1] = number;
    else found.push([number, number]);
  }
  const text = ([from, to]: [number, number]) => (from === to ? `${from}` : to === from + 1 ? `${from}, ${to}` : `${from} to ${to}`);
  return found.map(text).join(", ");
}

function decimals(value: number, digits: number): string {
  return value.toFixed(digits);
}

function significant(value: number, digits: number): string {
  const size = Math.abs(value);
  const before = size === 0 ? 1 : Math.floor(Math.log10(size)) + 1;
  return value.toFixed(Math.min(6, Math.max(0, digits - before)));
}
