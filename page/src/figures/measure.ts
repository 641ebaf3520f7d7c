// How much room text takes in a drawing.

let context: CanvasRenderingContext2D | null = null;

/** Width in pixels of a line of text in the font of the page. */
export function textWidth(text: string, size: number, weight = 400): number {
  context ??= document.createElement("canvas").getContext("2d")!;
  context.font = `${weight} ${size}px ${getComputedStyle(document.body).fontFamily}`;
  return context.measureText(text).width;
}

/** The text, or as much of its end as there is room for: names of devices differ at their ends. */
export function fitted(text: string, room: number, size: number): string {
  if (textWidth(text, size) <= room) return text;
  let from = 1;
  while (from < text.length - 1 && textWidth(`…${text.slice(from)}`, size) > room) from += 1;
  return `…${text.slice(from)}`;
}

/** A label of an axis: the middle of its text, and how wide that is. */
export interface Label {
  at: number;
  width: number;
}

/** Pixels between two labels side by side, at least. */
export const APART = 5;

/** Labels side by side between two ends: moved inside of them, and without those that lie on one before. */
export function sideBySide<L extends Label>(labels: L[], low: number, high: number): L[] {
  let free = -Infinity;
  return labels.flatMap((label) => {
    const half = label.width / 2;
    const at = Math.max(low + half, Math.min(high - half, label.at));
    if (at - half < free) return [];
    free = at + half + APART;
    return [{ ...label, at }];
  });
}
