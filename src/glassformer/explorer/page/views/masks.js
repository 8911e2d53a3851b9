/**
 * V7 Masks: where each query may look, and what would happen without that rule.
 * @module
 */

import { bdi, formula, h, mi, mo, mtext, nameOf, num, num3, replace, row, token } from "../dom.js";
import { heatmap } from "../draw/heatmap.js";
import { resolve } from "../draw/colour.js";
import { button } from "../ui/controls.js";
import { gridPicture } from "../ui/grid.js";
import { latest, messageOf } from "../ui/latest.js";
import { card, figures, pythonOfTrace } from "../ui/parts.js";
import { keysOf, queriesOf } from "../ui/traces.js";
import { KIND_NAMES } from "../ui/types.js";

/** @type {any} */
export const view = {
  id: "masks",
  title: "Masks",
  about: "Where each position may look, as the model built it, and the damage without it",
  families: ["encoder-decoder", "decoder-only", "encoder-only"],
  /** @param {HTMLElement} stage @param {any} ctx */
  async mount(stage, ctx) {
    const { trace } = ctx;
    const about = await ctx.source.json(`traces/${trace.id}/masks`, { signal: ctx.signal });
    const masks = await Promise.all(about.kinds.map((/** @type {any} */ one) => ctx.source.tensor(trace.id, `${one.kind}.mask`, { signal: ctx.signal })));
    const list = h("div", { class: "columns masks" });
    stage.append(list);
    const grids = about.kinds.map((/** @type {any} */ one, /** @type {number} */ at) => {
      const queries = queriesOf(trace, one.kind);
      const keys = keysOf(trace, one.kind);
      const { data, shape } = masks[at];
      const grid = gridPicture(ctx, {
        label: `${KIND_NAMES[one.kind]}: where a query may look`,
        rows: queries.length,
        columns: keys.length,
        rowName: (i) => nameOf(queries[i]),
        columnName: (j) => nameOf(keys[j]),
        rowSpecial: (i) => queries[i].special,
        columnSpecial: (j) => keys[j].special,
        say: (i, j) => `query ${nameOf(queries[i])}, key ${nameOf(keys[j])}: ${data[i * shape[1] + j] ? "may look" : "masked"}`,
        cell: { w: [2, 28], h: [2, 26] },
        onpick: (query, key) => ctx.select({ kind: one.kind, query, key }, { replace: true }),
      });
      const box = h("section", { class: ["card", `kind-${one.kind}`] }, h("div", { class: "row" }, h("h3", null, KIND_NAMES[one.kind]), one.causal && h("span", { class: "chip" }, "causal"), one.padding && h("span", { class: "chip" }, "padding")), grid.element, h("p", null, `${one.sentence[0].toUpperCase()}${one.sentence.slice(1)}.`), h("p", { class: "note" }, `${one.allowed.toLocaleString("en")} of ${one.total.toLocaleString("en")} cells are open (filled); masked ones get the score −∞, so weight 0.`));
      list.append(box);
      heatmap(grid.canvas, data, shape[0], shape[1], { table: twoColours(box) });
      grid.start();
      return { grid, kind: one.kind };
    });
    const causal = about.kinds.some((/** @type {any} */ one) => one.causal);
    stage.append(h("div", { class: "columns" }, causal && leak(ctx), padding(ctx)));

    /** @param {any} now */
    function mark(now) {
      const one = about.kinds.find((/** @type {any} */ each) => each.kind === now.kind) ?? about.kinds[0];
      grids.find((/** @type {any} */ each) => each.kind === now.kind)?.grid.select(now.query, now.key);
      const at = about.kinds.indexOf(one);
      const open = masks[at].data[now.query * masks[at].shape[1] + now.key];
      ctx.inspect({
        title: "Who may look at whom",
        kind: one.kind,
        paper: "3.2.3",
        says: `${one.sentence[0].toUpperCase()}${one.sentence.slice(1)}.`,
        equation: formula(mi("softmax"), mo("("), row(mi("s"), mo("+"), mi("M")), mo(")"), mo(","), mtext("  M ∈ {0, −∞}")),
        numbers: [["this cell", open ? "may look" : "masked"], ["open cells", one.allowed], ["of", one.total]],
        shapes: [["mask", `${one.queries} × ${one.keys}`]],
        python: `${pythonOfTrace(ctx)}\ntrace.layers(${JSON.stringify(one.kind)})[0].mask`,
      });
    }
    mark(ctx.store.get());
    return {
      update: mark,
      picture: () => (grids.find((/** @type {any} */ one) => one.kind === ctx.store.get().kind) ?? grids[0])?.grid.canvas ?? null,
      table: () => {
        const at = Math.max(0, about.kinds.findIndex((/** @type {any} */ one) => one.kind === ctx.store.get().kind));
        const kind = about.kinds[at].kind;
        const columns = masks[at].shape[1];
        return {
          caption: `${KIND_NAMES[kind]}: mask`,
          columns: [{ label: "query" }, { label: "key" }, { label: "may look" }],
          count: masks[at].data.length,
          row: (/** @type {number} */ i) => [nameOf(queriesOf(trace, kind)[Math.floor(i / columns)]), nameOf(keysOf(trace, kind)[i % columns]), masks[at].data[i] ? "yes" : "no"],
        };
      },
    };
  },
};

/** Masked and open cells in the hue of the kind. @param {HTMLElement} box */
function twoColours(box) {
  const table = new Uint32Array(256);
  const bytes = new Uint8ClampedArray(table.buffer);
  const word = (/** @type {string} */ property) => {
    const colour = resolve(box, property); // rgb(1, 2, 3), or color(srgb 0.1 0.2 0.3) of a mixture
    const most = colour.startsWith("color(") ? 255 : 1;
    return [...(colour.match(/[\d.]+/g) ?? []).slice(0, 3).map((part) => Math.round(most * Number(part))), 255];
  };
  bytes.set(word("--sunken"), 0);
  bytes.set(word("--open"), 4 * 255);
  return table;
}

/** The decoder with its eyes open to the future. @param {any} ctx */
function leak(ctx) {
  const answer = h("div", { class: "stack", aria: { live: "polite" } });
  const asking = latest();
  const go = async () => {
    const last = asking();
    try {
      const { trace } = ctx;
      const ask = { source: trace.request.source, target: trace.text.target };
      const [fair, peeking] = await Promise.all([ctx.traceOf(ask), ctx.traceOf({ ...ask, interventions: [{ type: "causal", value: false }] })]);
      if (!last() || ctx.signal.aborted) return;
      replace(
        answer,
        figures([["log-probability with the mask", fair.result.logp], ["without it", peeking.result.logp], ["difference", peeking.result.logp - fair.result.logp]]),
        h("p", { class: "note" }, "Same model, same output. Without the mask every position also sees the tokens it should predict. A model trained with the mask has never met that, so its numbers become worse or wildly sure; one trained without it would simply copy."),
        h("div", { class: "row" }, button("Open the trace without the mask", () => ctx.select({ trace: peeking.id, compare: fair.id }))),
      );
    } catch (error) {
      if (last() && !ctx.signal.aborted) replace(answer, h("p", { class: "error" }, bdi(messageOf(error))));
    }
  };
  return card("Take the causal mask away", h("p", { class: "note" }, "The decoder may look at tokens that it has not written yet: a leak."), ctx.source.live ? h("div", null, button("Run without the mask", go)) : h("p", { class: "note" }, "Needs a running glassformer explore."), answer);
}

/** A batch with its padding. @param {any} ctx */
function padding(ctx) {
  const given = ctx.trace.request.source;
  const box = h("textarea", { rows: 3, spellcheck: false, dir: "auto", value: [given, "A dog.", "She reads a book in the garden."].join("\n"), aria: { label: "texts of a batch, one a line" } });
  const answer = h("div", { class: "stack", aria: { live: "polite" } });
  const asking = latest();
  const go = async () => {
    const last = asking();
    const texts = box.value.split("\n").map((/** @type {string} */ line) => line.trim()).filter(Boolean).slice(0, 8);
    try {
      const side = ctx.model.architecture.sides[0];
      const found = await ctx.source.post("batch", { run: ctx.trace.run, texts, side }, { signal: ctx.signal });
      if (!last() || ctx.signal.aborted) return;
      replace(
        answer,
        h("div", { class: "scroll-x batch", tabIndex: 0, role: "region", aria: { label: "the batch" } }, h("table", null, h("tbody", null, found.rows.map((/** @type {any} */ line) => h("tr", null, line.padding.map((/** @type {boolean} */ pad, /** @type {number} */ i) => h("td", { class: pad && "pad" }, pad ? "pad" : token(line.tokens[i] ?? { piece: "" })))))))),
        h("p", null, "Largest change of any state against the same text alone: ", h("b", null, num(found.difference.with_mask)), " with the padding mask, ", h("b", null, num(found.difference.without_mask)), " without it."),
      );
      ctx.announce(`difference with mask ${num3(found.difference.with_mask)}, without ${num3(found.difference.without_mask)}`);
    } catch (error) {
      if (last() && !ctx.signal.aborted) replace(answer, h("p", { class: "error" }, bdi(messageOf(error))));
    }
  };
  return card("A batch and its padding", h("p", { class: "note" }, "Texts of unequal length are padded to stand in one tensor; the padding mask keeps the filling from being looked at."), box, ctx.source.live ? h("div", null, button("Make the batch", go)) : h("p", { class: "note" }, "Needs a running glassformer explore."), answer);
}
