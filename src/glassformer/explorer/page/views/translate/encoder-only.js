/**
 * What an encoder alone answers: guesses at blanks, a label, or one vector.
 * @module
 */

import { bdi, formula, h, mi, mo, percent, token } from "../../dom.js";
import { tint } from "../../draw/colour.js";
import { bar, card, figures, pythonOfTrace } from "../../ui/parts.js";

/** @param {HTMLElement} stage @param {any} ctx */
export function fill(stage, ctx) {
  const { trace } = ctx;
  const { blanks } = trace.result;
  const at = new Map(blanks.map((/** @type {any} */ blank) => [blank.position, blank]));
  stage.append(
    h("section", { class: "card hero" }, h("div", { class: "output-tokens" }, trace.tokens.source.map((/** @type {any} */ tok) => (at.has(tok.index) ? token({ ...tok, special: false, piece: at.get(tok.index).guesses[0]?.piece ?? "?" }, { class: ["tinted", "guess"], style: tint(ctx.theme, at.get(tok.index).guesses[0]?.p ?? 0) }) : token(tok))))),
    blanks.length
      ? h("div", { class: "columns" }, blanks.map((/** @type {any} */ blank, /** @type {number} */ i) => guesses(`Blank ${i + 1}, position ${blank.position}`, blank.guesses.map((/** @type {any} */ g) => ({ name: g.piece, p: g.p })))))
      : h("p", { class: "empty" }, "Write [MASK] where a word is missing."),
  );
  ctx.inspect({ title: "Fill the blanks", says: "Each blank is guessed from both sides at once: the encoder has no mask over the future.", numbers: blanks.map((/** @type {any} */ b) => [`position ${b.position}`, b.guesses[0]?.p ?? 0]), python: pythonOfTrace(ctx) });
  const rows = blanks.flatMap((/** @type {any} */ b) => b.guesses.map((/** @type {any} */ g) => [b.position, g.piece, g.p]));
  return { python: () => pythonOfTrace(ctx), table: () => ({ caption: "Guesses at each blank", columns: [{ label: "position", numeric: true }, { label: "piece" }, { label: "probability", numeric: true }], count: rows.length, row: (/** @type {number} */ i) => rows[i] }) };
}

/** @param {string} title @param {{name: string, p: number}[]} list */
function guesses(title, list) {
  const most = Math.max(...list.map((one) => one.p), 1e-9);
  return card(
    title,
    h(
      "ul",
      { class: "alternatives" },
      list.map((one) => {
        const meter = bar("enc");
        meter.set(one.p / most, percent(one.p), String(one.p));
        return h("li", null, token({ piece: one.name }), meter.element);
      }),
    ),
  );
}

/** @param {HTMLElement} stage @param {any} ctx */
export function classify(stage, ctx) {
  const { labels } = ctx.trace.result;
  const best = labels.reduce((/** @type {any} */ a, /** @type {any} */ b) => (b.p > a.p ? b : a), labels[0]);
  stage.append(h("section", { class: "card hero" }, h("p", { class: "note", dir: "auto" }, bdi(ctx.trace.text.source)), h("p", { class: "result-text" }, bdi(best?.name ?? ""), " ", h("span", { class: "note" }, percent(best?.p ?? 0)))), guesses("Labels", labels));
  ctx.inspect({ title: "Classify", says: ["The model finds ", h("strong", null, bdi(best?.name ?? "")), " most likely."], equation: formula(mi("p"), mo("="), mi("softmax"), mo("("), mi("W"), mi("x"), mo("+"), mi("b"), mo(")")), numbers: labels.map((/** @type {any} */ l) => [bdi(l.name), l.p]), python: pythonOfTrace(ctx) });
  return { python: () => pythonOfTrace(ctx), table: () => ({ caption: "Labels", columns: [{ label: "label" }, { label: "probability", numeric: true }], count: labels.length, row: (/** @type {number} */ i) => [labels[i].name, labels[i].p] }) };
}

/** @param {HTMLElement} stage @param {any} ctx */
export function embed(stage, ctx) {
  const { vector, norm } = ctx.trace.result;
  const most = Math.max(...vector.map(Math.abs), 1e-9);
  stage.append(h("section", { class: "card hero" }, h("p", { dir: "auto" }, bdi(ctx.trace.text.source)), figures([["dimensions", vector.length], ["length", norm]]), h("div", { class: "vector" }, vector.slice(0, 512).map((/** @type {number} */ x, /** @type {number} */ i) => h("i", { title: `${i}: ${x}`, style: { "--x": x / most }, class: x < 0 && "below" })))));
  ctx.inspect({ title: "A text as one vector", says: "The states of all positions, pooled into one.", numbers: [["length", norm]], shapes: [["vector", String(vector.length)]], python: pythonOfTrace(ctx) });
  return { python: () => pythonOfTrace(ctx), table: () => ({ caption: "The vector", columns: [{ label: "dimension", numeric: true }, { label: "value", numeric: true }], count: vector.length, row: (/** @type {number} */ i) => [i, vector[i]] }) };
}
