/**
 * A matrix of weights between tokens, or of a number for each head, as a picture that can be read cell by cell.
 * @module
 */

import { h, num3, visible } from "../dom.js";
import { sequential, signed } from "../draw/colour.js";
import { heatmap } from "../draw/heatmap.js";
import { code } from "../draw/scale.js";
import { gridPicture } from "./grid.js";
import { KIND_NAMES } from "./types.js";

/**
 * @param {any} ctx
 * @param {{label: string, rows: string[], columns: string[], value?: string, axes?: [string, string], both?: boolean,
 *   cell?: {w?: [number, number], h?: [number, number], square?: boolean}, height?: number, signal?: AbortSignal,
 *   onpick?: (i: number, j: number) => void, onopen?: (i: number, j: number) => void,
 *   onhover?: (i: number, j: number) => void, rowWord?: string, columnWord?: string}} how `both`: negative numbers too
 */
export function matrix(ctx, how) {
  /** @type {ArrayLike<number>} */
  let data = new Float32Array(how.rows.length * how.columns.length);
  const { value = "weight", rowWord = "query", columnWord = "key" } = how;
  const grid = gridPicture(ctx, /** @type {any} */ ({
    label: how.label,
    rows: how.rows.length,
    columns: how.columns.length,
    rowName: (/** @type {number} */ i) => how.rows[i],
    columnName: (/** @type {number} */ j) => how.columns[j],
    say,
    axes: how.axes,
    cell: how.cell,
    height: how.height,
    signal: how.signal ?? ctx.signal,
    onpick: how.onpick,
    onopen: how.onopen,
    onhover: how.onhover,
  }));

  /** @param {number} i @param {number} j */
  function say(i, j) {
    return `${rowWord} ${how.rows[i]}, ${columnWord} ${how.columns[j]}, ${value} ${num3(valueAt(i, j))}`;
  }

  /** @param {number} i @param {number} j */
  function valueAt(i, j) {
    return data[i * how.columns.length + j];
  }

  return {
    ...grid,
    say,
    valueAt,
    /** @param {ArrayLike<number>} numbers @param {{scale?: string, most?: number}} [options] most: what the strongest colour stands for */
    paint(numbers, { scale = "linear", most } = {}) {
      data = numbers;
      let top = most ?? 0;
      if (most === undefined) for (let i = 0; i < data.length; i++) if (Math.abs(data[i]) > top && Number.isFinite(data[i])) top = Math.abs(data[i]);
      top ||= 1; // nothing but zeros: no colour
      const [rows, columns] = [how.rows.length, how.columns.length];
      if (how.both) heatmap(grid.canvas, data, rows, columns, { table: signed(ctx.theme), low: -top, high: top });
      else heatmap(grid.canvas, data, rows, columns, { table: sequential(ctx.theme), code: code(/** @type {any} */ (scale)), low: 0, high: top });
      const now = grid.at();
      grid.focusCell.setAttribute("aria-label", say(now.i, now.j));
    },
    /** The matrix with its names, for saving. */
    picture: () => labelledPicture({ canvas: grid.canvas, rows: how.rows, columns: how.columns, title: how.label, theme: ctx.theme }),
    /** @returns {import("./types.js").TableOf} */
    table: () => ({
      caption: how.label,
      columns: [{ label: rowWord }, { label: columnWord }, { label: value, numeric: true }],
      count: how.rows.length * how.columns.length,
      row: (i) => {
        const [row, column] = [Math.floor(i / how.columns.length), i % how.columns.length];
        return [how.rows[row], how.columns[column], valueAt(row, column)];
      },
    }),
  };
}

/**
 * A heat map with the names of its rows and columns, for saving.
 * @param {{canvas: HTMLCanvasElement, rows: string[], columns: string[], title: string, theme: "light" | "dark"}} how
 * @returns {HTMLCanvasElement}
 */
export function labelledPicture({ canvas, rows, columns, title, theme }) {
  const [paper, ink] = theme === "dark" ? ["#111822", "#e7eef6"] : ["#ffffff", "#131c28"];
  const cell = Math.max(1, Math.min(36, Math.floor(1600 / Math.max(rows.length, columns.length, 1))));
  const named = cell >= 11;
  const left = named ? 130 : 16;
  const top = 40 + (named ? 90 : 0);
  const out = h("canvas", { width: left + columns.length * cell + 60, height: top + rows.length * cell + 16 });
  const pen = out.getContext("2d");
  pen.fillStyle = paper;
  pen.fillRect(0, 0, out.width, out.height);
  pen.fillStyle = ink;
  pen.font = "600 16px system-ui, sans-serif";
  pen.fillText(title, 12, 26);
  pen.imageSmoothingEnabled = false;
  pen.drawImage(canvas, left, top, columns.length * cell, rows.length * cell);
  if (!named) return out;
  pen.font = `${Math.min(14, cell - 1)}px ui-monospace, monospace`;
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  rows.forEach((name, i) => pen.fillText(visible(name), left - 8, top + (i + 0.5) * cell, left - 14));
  pen.textAlign = "left";
  columns.forEach((name, j) => {
    pen.save();
    pen.translate(left + (j + 0.5) * cell, top - 8);
    pen.rotate(-Math.PI / 4);
    pen.fillText(visible(name), 0, 0, 110);
    pen.restore();
  });
  return out;
}

/**
 * A matrix with a cell for each head of a kind; `valuesOf` sorts what is known of some heads into it.
 * @param {any} ctx @param {string} kind
 * @param {{value: string, both?: boolean, signal: AbortSignal, onpick: (layer: number, head: number) => void}} how
 */
export function headMatrix(ctx, kind, { value, both, signal, onpick }) {
  const { layers, heads } = ctx.trace.shapes[kind];
  const picture = matrix(ctx, {
    label: `${KIND_NAMES[kind]}: ${value} by layer and head`,
    rows: Array.from({ length: layers }, (_, i) => `layer ${i}`),
    columns: Array.from({ length: heads }, (_, i) => String(i)),
    value,
    rowWord: "",
    columnWord: "head",
    both,
    cell: { w: [18, 40], h: [20, 30] },
    signal,
    onpick,
  });
  /** @param {any[]} list @param {string} name */
  const valuesOf = (list, name) => {
    const data = new Float32Array(heads * layers).fill(NaN);
    for (const each of list) if (each.kind === kind) data[each.layer * heads + each.head] = each[name];
    return data;
  };
  return { ...picture, valuesOf };
}
