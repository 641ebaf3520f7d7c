// Light or dark: as the system says, until the reader chooses. Paper is always light.

import type { Theme } from "./words/colours.ts";

const system = window.matchMedia("(prefers-color-scheme: dark)");
let chosen: Theme | null = null;
let printing = false;
const drawings: (() => void)[] = [];

export function theme(): Theme {
  if (printing) return "light";
  return chosen ?? (system.matches ? "dark" : "light");
}

/** Calls `draw` whenever the theme has changed. */
export function onTheme(draw: () => void): void {
  drawings.push(draw);
}

export function choose(next: Theme | null): void {
  chosen = next;
  apply();
}

function apply(): void {
  document.documentElement.dataset.theme = theme();
  for (const draw of drawings) draw();
}

export function startTheme(): void {
  document.documentElement.dataset.theme = theme();
  system.addEventListener("change", apply);
  for (const [event, value] of [["beforeprint", true], ["afterprint", false]] as const) {
    window.addEventListener(event, () => {
      printing = value;
      apply();
    });
  }
}
