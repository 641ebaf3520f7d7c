// The part of a heat map that is visible, in cells.

export interface View {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Size {
  columns: number;
  rows: number;
}

/** Cells that are visible at least, in each direction. */
const LEAST = 4;

export function whole({ columns, rows }: Size): View {
  return { x: 0, y: 0, width: columns, height: rows };
}

/** The view inside the map, neither larger than it nor smaller than a few cells. */
export function bounded(view: View, { columns, rows }: Size): View {
  const width = Math.min(columns, Math.max(Math.min(LEAST, columns), view.width));
  const height = Math.min(rows, Math.max(Math.min(LEAST, rows), view.height));
  return {
    x: Math.min(columns - width, Math.max(0, view.x)),
    y: Math.min(rows - height, Math.max(0, view.y)),
    width,
    height,
  };
}

/** Zooms by a factor (above 1: closer) and keeps the point at shares (x, y) of the view where it is. */
export function zoomed(view: View, size: Size, factor: number, x: number, y: number): View {
  return carried(view, size, factor, [x, y], [x, y]);
}

/** Zooms by a factor and takes the point at some shares of the view to others. */
export function carried(view: View, size: Size, factor: number, from: [number, number], to: [number, number]): View {
  const next = bounded({ ...view, width: view.width / factor, height: view.height / factor }, size);
  return bounded(
    { ...next, x: view.x + view.width * from[0] - next.width * to[0], y: view.y + view.height * from[1] - next.height * to[1] },
    size,
  );
}

export function moved(view: View, size: Size, columns: number, rows: number): View {
  return bounded({ ...view, x: view.x + columns, y: view.y + rows }, size);
}

/** The view moved so that a cell is inside. */
export function showing(view: View, size: Size, column: number, row: number): View {
  const x = Math.min(column, Math.max(view.x, column + 1 - view.width));
  const y = Math.min(row, Math.max(view.y, row + 1 - view.height));
  return bounded({ ...view, x, y }, size);
}

export function isWhole(view: View, size: Size): boolean {
  return view.width >= size.columns && view.height >= size.rows;
}
