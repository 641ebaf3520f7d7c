// Levels of detail of a heat map. A cell of a coarse layer covers several cells and has the highest of
// their values, so that a single heavy pair stays visible however many cells a pixel covers.

export interface Layer {
  columns: number;
  rows: number;
  values: Uint8Array;
  /** Cells of the finest layer that one cell covers, in each direction. */
  across: number;
  down: number;
}

/** The cells, row by row, and all coarser layers, which join cells of both directions or of columns only. */
export function pyramid(columns: number, rows: number, values: Uint8Array, join: "both" | "columns"): Layer[] {
  const layers = [{ columns, rows, values, across: 1, down: 1 }];
  const ended = (layer: Layer) => layer.columns === 1 && (join === "columns" || layer.rows === 1);
  for (let last = layers[0]; !ended(last); last = layers[layers.length - 1]) {
    layers.push(halved(last, join === "both" ? 1 : 0));
  }
  return layers;
}

function halved(layer: Layer, shift: 0 | 1): Layer {
  const { columns, rows, values } = layer;
  const half = (columns + 1) >> 1;
  const halfRows = (rows + shift) >> shift;
  const out = new Uint8Array(half * halfRows);
  for (let row = 0; row < rows; row++) {
    const from = row * columns;
    const to = (row >> shift) * half;
    for (let column = 0; column < columns; column++) {
      const value = values[from + column];
      const at = to + (column >> 1);
      if (value > out[at]) out[at] = value;
    }
  }
  return { columns: half, rows: halfRows, values: out, across: layer.across * 2, down: layer.down << shift };
}

/** The finest layer whose cells have at least one pixel; pixels are those of the finest cells. */
export function layerFor(layers: Layer[], pixelsAcross: number, pixelsDown: number): Layer {
  const joinsRows = layers[layers.length - 1].down > 1;
  const fits = (layer: Layer) =>
    layer.across * pixelsAcross > 0.999 && (!joinsRows || layer.down * pixelsDown > 0.999);
  return layers.find(fits) ?? layers[layers.length - 1];
}
