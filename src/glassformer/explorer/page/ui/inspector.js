/**
 * The inspector: the equation of what is selected, its real numbers, a plain sentence, and whether it can be trusted.
 * @module
 */

import { bdi, formula, frac, h, mi, mn, mo, mtext, nameOf, num, num3, replace, root, row, sub, sup, visible } from "../dom.js";
import { renew } from "./controls.js";
import { KIND_NAMES } from "./types.js";
import { keysOf, queriesOf } from "./traces.js";

/**
 * @typedef {object} Card
 * @property {string} title
 * @property {string} [kind]
 * @property {string} [paper] section of the paper
 * @property {Node} [equation]
 * @property {any} [says]
 * @property {[any, any][]} [numbers]
 * @property {[string, string][]} [shapes]
 * @property {string} [python]
 */

/** @param {HTMLElement} panel @param {{copy: (text: string) => void}} how */
export function inspector(panel, { copy }) {
  const fidelity = h("div", { class: "row" });
  const body = h("div", { class: "stack" });
  replace(panel, h("p", { class: "panel-title", id: "inspector-title" }, "Inspector"), body, h("hr", { class: "rule" }), fidelity);

  return {
    /** @param {Card | null} card */
    show(card) {
      if (!card) {
        replace(body, h("p", { class: "note" }, "Select something to see its equation and its numbers."));
        return;
      }
      renew(
        body,
        h(
          "section",
          { class: card.kind && `kind-${card.kind}` },
          h("div", { class: "row chips" }, card.kind && h("span", { class: ["chip", `kind-${card.kind}`] }, KIND_NAMES[card.kind]), card.paper && h("span", { class: "chip" }, `paper §${card.paper}`)),
          h("h3", null, card.title),
          card.says && h("p", { class: "says" }, card.says),
        ),
        card.equation && h("div", { class: "equation", tabIndex: 0, role: "region", aria: { label: "equation" } }, card.equation),
        card.numbers?.length ? h("dl", null, card.numbers.map(([name, value]) => [h("dt", null, name), h("dd", null, typeof value === "number" ? num(value) : value)])) : null,
        card.shapes?.length ? [h("h4", null, "Shapes"), h("dl", { class: "mono" }, card.shapes.map(([name, value]) => [h("dt", null, name), h("dd", null, value)]))] : null,
        card.python &&
          h(
            "section",
            null,
            h("div", { class: "row" }, h("h4", { class: "grow" }, "In Python"), h("button", { type: "button", class: "quiet", on: { click: () => copy(/** @type {string} */ (card.python)) } }, "Copy")),
            h("pre", { class: "code", tabIndex: 0, role: "region", aria: { label: "Python" } }, card.python),
          ),
      );
    },
    /** @param {any} trace */
    trust(trace) {
      const found = trace?.fidelity;
      if (!found) {
        replace(fidelity);
        return;
      }
      const badge = (/** @type {string} */ text, /** @type {number | null} */ value, /** @type {string} */ why) =>
        value === null || value === undefined
          ? null
          : h("span", { class: ["badge", value <= found.tolerance ? "good" : "bad"], title: why }, `${text} ${num3(value)} ${value <= found.tolerance ? "✓" : "✗"}`);
      replace(
        fidelity,
        badge("Δ kernel", found.attention, "largest difference between the recomputed weights · V and the output of the kernel that ran"),
        badge("Δ decoding", found.incremental, "largest difference between log-probabilities of this pass and of decoding step by step"),
        h("p", { class: "note" }, found.ok ? "What you see is what the model computed." : "The recomputed attention differs from the model's own: do not rely on these numbers."),
      );
    },
  };
}

/** Attention as the paper writes it. */
export function attentionFormula() {
  return formula(
    mi("Attention"), mo("("), mi("Q"), mo(","), mi("K"), mo(","), mi("V"), mo(")"), mo("="), mi("softmax"), mo("("),
    frac(row(mi("Q"), sup(mi("K"), mtext("⊤"))), root(sub(mi("d"), mi("k")))), mo(")"), mi("V"),
  );
}

/**
 * The card of one weight: its equation with its own numbers.
 * @param {any} ctx @param {any} selection @param {{weight?: number, rank?: number, scaled?: number, denominator?: number}} [found]
 * @returns {Card}
 */
export function weightCard(ctx, selection, found = {}) {
  const { trace } = ctx;
  const { kind, layer, head, query, key } = selection;
  const shape = trace.shapes[kind];
  const q = queriesOf(trace, kind)[query];
  const k = keysOf(trace, kind)[key];
  const alpha = () => sub(mi("α"), mtext(`${query},${key}`));
  const from = q ? visible(nameOf(q)) : "";
  const to = k ? visible(nameOf(k)) : "";
  return {
    title: `Layer ${layer}, head ${head}`,
    kind,
    paper: "3.2.1",
    says: [
      "Query ", h("strong", null, bdi(from)), ` (${query}) looks at key `, h("strong", null, bdi(to)), ` (${key})`,
      found.weight === undefined ? "." : [" with weight ", h("strong", null, num(found.weight)), found.rank ? `, rank ${found.rank} of ${shape.keys}.` : "."],
    ],
    equation: h(
      "div",
      null,
      formula(alpha(), mo("="), mi("softmax"), mo("("), frac(row(sub(mi("q"), mn(String(query))), mo("·"), sub(mi("k"), mi("j"))), root(sub(mi("d"), mi("k")))), mo(")"), sub(mtext(""), mn(String(key)))),
      found.scaled !== undefined && found.denominator !== undefined && found.weight !== undefined
        ? formula(alpha(), mo("="), frac(sup(mi("e"), mn(found.scaled)), mn(found.denominator)), mo("="), mn(found.weight))
        : null,
    ),
    numbers: [
      ["weight α", found.weight ?? "–"],
      ["1 / keys", 1 / Math.max(1, shape.keys)],
      ["scale 1/√d_k", shape.scale],
    ],
    shapes: [
      ["Q", `${shape.queries} × ${shape.d_k}`],
      ["K", `${shape.keys} × ${shape.d_k}`],
      ["V", `${shape.keys} × ${shape.d_v}`],
      ["weights", `${shape.queries} × ${shape.keys}`],
    ],
  };
}
