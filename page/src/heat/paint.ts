// Paints the visible cells of a heat map onto a canvas.

import { layerFor, type Layer } from "./pyramid.ts";
import type { View } from "./view.ts";

/** Paints into the whole canvas; returns the layer that was used. */
export function paint(canvas: HTMLCanvasElement, layers: Layer[], view: View, colours: Uint32Array): Layer {
  const across = canvas.width / view.width;
  const down = canvas.height / view.height;
  const layer = layerFor(layers, across, down);
  const from = { column: Math.floor(view.x / layer.across), row: Math.floor(view.y / layer.down) };
  const columns = Math.min(layer.columns, Math.ceil((view.x + view.width) / layer.across)) - from.column;
  const rows = Math.min(layer.rows, Math.ceil((view.y + view.height) / layer.down)) - from.row;
  const image = new ImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  for (let row = 0; row < rows; row++) {
    const start = (from.row + row) * layer.columns + from.column;
    for (let column = 0; column < columns; column++) {
      pixels[row * columns + column] = colours[layer.values[start + column]];
    }
  }
  const cells = document.createElement("canvas");
  cells.width = columns;
  cells.height = rows;
  cells.getContext("2d")!.putImageData(image, 0, 0);
  const context = canvas.getContext("2d")!;
  context.clearRect(0, 0, canvas.width, canvas.height);
  context.imageSmoothingEnabled = false;
  context.drawImage(
    cells,
    (from.column * layer.across - view.x) * across,
    (from.row * layer.down - view.y) * down,
    columns * layer.across * across,
    rows * layer.down * down,
  );
  return layer;
}
