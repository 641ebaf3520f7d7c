// Colours of heat maps: viridis, which people with any kind of colour vision read in the same order.

import { LEVELS } from "./scales.ts";

// Viridis at 17 places from the least to the most, by Smith and van der Walt (CC0).
const VIRIDIS = [
  0x440154, 0x48186a, 0x472d7b, 0x424086, 0x3b528b, 0x33638d, 0x2c728e, 0x26828e, 0x21918c, 0x1fa088, 0x28ae80,
  0x3fbc73, 0x5ec962, 0x84d44b, 0xaddc30, 0xd8e219, 0xfde725,
];

// What is next to nothing must still differ from the background, by theme.
const FIRST = { light: 0, dark: 0.06 };

export type Theme = "light" | "dark";

/** Red, green and blue at a share from 0 to 1. More is darker on light and brighter on dark. */
export function viridis(share: number, theme: Theme): [number, number, number] {
  const from = FIRST[theme];
  const bounded = Math.min(1, Math.max(0, share));
  const along = (theme === "light" ? 1 - bounded : from + (1 - from) * bounded) * (VIRIDIS.length - 1);
  const i = Math.min(VIRIDIS.length - 2, Math.floor(along));
  const part = along - i;
  return [16, 8, 0].map((shift) => {
    const a = (VIRIDIS[i] >> shift) & 255;
    const b = (VIRIDIS[i + 1] >> shift) & 255;
    return Math.round(a + (b - a) * part);
  }) as [number, number, number];
}

/** The same as a colour of CSS. */
export function viridisCss(share: number, theme: Theme): string {
  return `rgb(${viridis(share, theme).join(",")})`;
}

/** Whether text on that colour is to be black, as far as contrast goes. */
export function blackOn([red, green, blue]: [number, number, number]): boolean {
  const linear = [red, green, blue].map((v) => (v <= 10 ? v / 3294.6 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.179;
}

/** Pixels (little-endian RGBA) by level; level 0 is transparent. */
export function palette(theme: Theme): Uint32Array {
  const pixels = new Uint32Array(LEVELS + 1);
  for (let level = 1; level <= LEVELS; level++) {
    const [red, green, blue] = viridis((level - 1) / (LEVELS - 1), theme);
    pixels[level] = ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
  }
  return pixels;
}
