/**
 * A whole tensor of the trace, opened from one of its numbers: where that number stands, and its neighbours.
 * @module
 */

import { bdi, h, nameOf, num, replace } from "../dom.js";
import { button } from "./controls.js";
import { latest, messageOf } from "./latest.js";
import { matrix } from "./matrix.js";
import { pythonOfTrace, pythonText } from "./parts.js";
import { keysOf, queriesOf } from "./traces.js";

/**
 * @typedef {object} Place of a number
 * @property {string} name of the tensor: cross.0.3.q
 * @property {string} text what the link says
 * @property {"query" | "key"} rows which tokens its rows are about
 * @property {boolean} [square] its columns are keys
 */

/**
 * @param {any} ctx
 * @param {{pick: (patch: {query?: number, key?: number}) => void}} how `pick`: a cell was chosen
 */
export function tensorPanel(ctx, { pick }) {
  const element = h("section", { class: "card tensor-panel", hidden: true, aria: { label: "the whole tensor" } });
  const asking = latest();
  let life = new AbortController();
  ctx.signal.addEventListener("abort", () => life.abort());

  function close() {
    asking();
    element.hidden = true;
    replace(element);
  }

  /** @param {Place} place @param {{kind: string, query: number, key: number}} cell @param {number} [column] */
  async function show(place, cell, column = 0) {
    const last = asking();
    life.abort();
    life = new AbortController();
    const { signal } = life;
    element.hidden = false;
    let found;
    try {
      found = await ctx.source.tensor(ctx.trace.id, place.name, { signal });
    } catch (error) {
      if (last() && !signal.aborted) replace(element, h("p", { class: "note" }, bdi(messageOf(error))));
      return;
    }
    if (!last() || ctx.signal.aborted) return;
    const [rows, columns] = found.shape;
    const tokens = place.rows === "key" ? keysOf(ctx.trace, cell.kind) : queriesOf(ctx.trace, cell.kind);
    const names = place.square ? keysOf(ctx.trace, cell.kind).map(nameOf) : Array.from({ length: columns }, (_, j) => String(j));
    const at = { row: place.rows === "key" ? cell.key : cell.query, column: place.square ? cell.key : column };
    const data = Float32Array.from(found.data, (x) => (Number.isFinite(x) ? x : NaN));
    const value = h("p", { class: "readout" });
    const read = (/** @type {number} */ i, /** @type {number} */ j) => {
      const [row, to] = i < 0 ? [at.row, at.column] : [i, j];
      replace(value, h("b", { class: "mono" }, bdi(nameOf(tokens[row] ?? {}))), place.square ? [" → ", h("b", { class: "mono" }, bdi(names[to]))] : ` dimension ${to}`, " ", num(found.data[row * columns + to]));
    };
    const picture = matrix(ctx, {
      label: place.name,
      rows: tokens.slice(0, rows).map(nameOf),
      columns: names,
      value: place.text,
      rowWord: place.rows,
      columnWord: place.square ? "key" : "dimension",
      axes: [place.rows, place.square ? "key" : "dimension"],
      both: !/\.(weights|mask)$/.test(place.name),
      cell: { w: [1, 26], h: [2, 24], square: false },
      height: 340,
      signal,
      onhover: read,
      onpick: (i, j) => {
        at.row = i;
        at.column = j;
        read(i, j);
        pick({ [place.rows]: i, ...(place.square ? { key: j } : {}) });
      },
    });
    picture.paint(data, { scale: "sqrt" });
    const python = `${pythonOfTrace(ctx)}\n\nfrom glassformer.probe.tensors import tensor\n\ntensor(trace, ${pythonText(place.name)})[${at.row}${place.square ? `, ${at.column}` : ""}]`;
    replace(
      element,
      h(
        "div",
        { class: "row" },
        h("h3", { class: "grow" }, h("span", { class: "mono" }, place.name), h("span", { class: "note" }, ` ${rows} × ${columns}`)),
        button("Copy Python", () => ctx.copy(python), { class: "quiet" }),
        button("✕", close, { class: "quiet", aria: { label: "close the tensor" } }),
      ),
      value,
      picture.element,
    );
    picture.start();
    picture.select(at.row, at.column);
    read(-1, -1);
    ctx.announce(`${place.name}, ${rows} by ${columns}`);
  }

  return { element, show, close };
}
