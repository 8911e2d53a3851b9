/**
 * V2 Tokens: from characters through the normaliser to pieces and ids, with the merges that made each word.
 * @module
 */

import { bdi, formula, h, mi, mo, num, percent, replace, token, visible } from "../dom.js";
import { headColour } from "../draw/colour.js";
import { button, renew, segmented } from "../ui/controls.js";
import { messageOf } from "../ui/latest.js";
import { card, figures } from "../ui/parts.js";

/** Characters shown one by one; longer texts are shown to here. */
const SHOWN = 2000;

/** @type {any} */
export const view = {
  id: "tokens",
  title: "Tokens",
  about: "How text is cut into the pieces the model knows, and the number each piece has",
  families: ["encoder-decoder", "decoder-only", "encoder-only"],
  /** @param {HTMLElement} stage @param {any} ctx */
  async mount(stage, ctx) {
    const sides = ctx.model.architecture.sides;
    let side = sides[0];
    let asking = new AbortController();
    let timer = 0;
    let word = 0;
    let step = -1;
    /** @type {any} */ let found = null;
    const area = h("textarea", { class: "editor", rows: 2, dir: "auto", spellcheck: false, value: ctx.trace.request.source, aria: { label: "text to cut into tokens" }, readOnly: !ctx.source.live });
    const flow = h("div", { class: "stack" });
    const tree = h("div");

    async function ask() {
      asking.abort();
      asking = new AbortController();
      const signal = AbortSignal.any([asking.signal, ctx.signal]);
      try {
        const next = ctx.source.live
          ? await ctx.source.post("tokenize", { run: ctx.trace.run, text: area.value, side }, { signal })
          : { text: area.value, normalised: area.value, tokens: ctx.trace.tokens[side], words: [], count: ctx.trace.tokens[side].length, unknown_ratio: 0, kind: ctx.model.tokenizer.kind };
        if (signal.aborted) return;
        found = next;
        word = Math.max(0, longest(found.words));
        step = -1;
        draw();
      } catch (error) {
        if (!signal.aborted) replace(flow, h("p", { class: "error", role: "alert" }, bdi(messageOf(error))));
      }
    }

    function draw() {
      const marks = found.tokens.map((/** @type {any} */ _, /** @type {number} */ i) => headColour(i));
      const touch = (/** @type {number} */ i) => {
        for (const one of flow.querySelectorAll("[data-token]")) one.classList.toggle("lit", Number(one.dataset.token) === i);
      };
      const pieces = found.tokens.map((/** @type {any} */ tok, /** @type {number} */ i) =>
        h(
          "button",
          {
            type: "button",
            class: ["piece", tok.special && "special"],
            data: { token: i },
            style: { "--mark": tok.special ? "var(--line-strong)" : marks[i] },
            aria: { label: `piece ${i}: ${tok.piece}, id ${tok.id}` },
            on: { pointerenter: () => touch(i), pointerleave: () => touch(-1), focus: () => touch(i), blur: () => touch(-1), click: () => pickWord(tok.word, tok) },
          },
          token(tok),
          h("span", { class: "piece-id num" }, String(tok.id)),
        ),
      );
      const different = found.normalised !== found.text;
      replace(
        flow,
        card("Characters", h("p", { class: "characters", dir: "auto" }, characters(found, marks, touch)), different ? h("p", { class: "note" }, "The normaliser changed the text; this is what it became.") : h("p", { class: "note" }, "The normaliser left the text as it was.")),
        card(`Pieces and ids`, h("div", { class: "pieces" }, pieces), figures([["tokens", found.count], ["characters", [...found.normalised].length], ["characters a token", [...found.normalised].length / Math.max(1, found.tokens.filter((/** @type {any} */ t) => !t.special).length)], ["unknown", percent(found.unknown_ratio)]])),
      );
      drawTree();
      describe(ctx, found, null);
    }

    /** @param {number | null} index @param {any} tok */
    function pickWord(index, tok) {
      const at = found.words.findIndex((/** @type {any} */ one) => one.index === index);
      if (at >= 0) {
        word = at;
        step = -1;
        drawTree();
      }
      describe(ctx, found, tok);
    }

    function drawTree() {
      const one = found.words[word];
      if (!one) {
        replace(tree);
        return;
      }
      const total = one.merges.length;
      const shown = step < 0 ? total : step;
      const go = (/** @type {number} */ to) => {
        step = Math.max(0, Math.min(total, to));
        drawTree();
      };
      const rows = [one.symbols, ...one.merges.map((/** @type {any} */ m) => m.symbols)].slice(0, shown + 1);
      renew(
        tree,
        card(
          "How a word was put together",
          h("div", { class: "controls" }, h("div", { class: "row", role: "group", aria: { label: "word" } }, found.words.slice(0, 40).map((/** @type {any} */ w, /** @type {number} */ i) => button(bdi(w.text), () => ((word = i), (step = -1), drawTree()), { class: "quiet", aria: { pressed: String(i === word) } })))),
          total === 0
            ? h("p", { class: "note" }, found.kind === "bpe" ? "One piece from the start: nothing was merged." : `A ${found.kind} tokenizer does not merge; it chooses pieces directly.`)
            : [
                h("p", { class: "note" }, "Byte-pair encoding begins with characters and joins the pair that was learned earliest (lowest rank), again and again. Each line is the word after one more merge."),
                h(
                  "ol",
                  { class: "merges" },
                  rows.map((symbols, r) => {
                    const merge = one.merges[r - 1];
                    return h("li", null, h("span", { class: "merge-rank note" }, r === 0 ? "characters" : [visible(merge.left), " + ", visible(merge.right), h("span", { class: "num" }, ` rank ${merge.rank}`)]), h("span", { class: "row" }, symbols.map((/** @type {string} */ symbol, /** @type {number} */ i) => h("span", { class: ["token", merge && i === merge.at && "selected"] }, bdi(visible(symbol))))));
                  }),
                ),
                h("div", { class: "row" }, button("First", () => go(0)), button("Back", () => go(shown - 1), { disabled: shown === 0 }), button("Next merge", () => go(shown + 1), { disabled: shown === total }), h("span", { class: "note num" }, `${shown} of ${total} merges`)),
              ],
        ),
      );
    }

    area.addEventListener("input", () => {
      clearTimeout(timer);
      timer = window.setTimeout(ask, 120);
    }, { signal: ctx.signal });
    stage.append(
      h("section", { class: "card" }, h("div", { class: "controls" }, sides.length > 1 && ctx.source.live && segmented({ label: "read as", options: sides.map((/** @type {string} */ one) => [one, one]), value: side, onchange: (value) => ((side = value), ask()) }), ctx.source.live && h("span", { class: "note" }, "Edit freely: this uses the tokenizer only.")), area),
      flow,
      tree,
    );
    await ask();
    return {
      table: () => ({
        caption: "Tokens of the text",
        columns: [{ label: "index", numeric: true }, { label: "piece" }, { label: "id", numeric: true }, { label: "from", numeric: true }, { label: "to", numeric: true }, { label: "special" }],
        count: found?.tokens.length ?? 0,
        row: (/** @type {number} */ i) => {
          const t = found.tokens[i];
          return [i, t.piece, t.id, t.start, t.end, t.special ? "yes" : ""];
        },
      }),
      python: () => `from glassformer import load\n\nmodel = load(${JSON.stringify(ctx.trace.run)})\nids = model.tokenizer.encode(${JSON.stringify(area.value)})`,
    };
  },
};

/** @param {any[]} words */
function longest(words) {
  return words.reduce((best, word, i) => (best < 0 || word.merges.length > words[best].merges.length ? i : best), -1);
}

/** The normalised text, cut where the pieces are. @param {any} found @param {string[]} marks @param {(i: number) => void} touch */
function characters(found, marks, touch) {
  const parts = [];
  const whole = found.normalised.slice(0, SHOWN);
  let at = 0;
  found.tokens.forEach((/** @type {any} */ tok, /** @type {number} */ i) => {
    if (tok.end <= tok.start || tok.start < at || tok.start >= whole.length) return;
    if (tok.start > at) parts.push(h("span", { class: "gap" }, visible(whole.slice(at, tok.start))));
    parts.push(h("span", { class: "cut", data: { token: i }, style: { "--mark": marks[i] }, on: { pointerenter: () => touch(i), pointerleave: () => touch(-1) } }, bdi(visible(whole.slice(tok.start, tok.end)))));
    at = tok.end;
  });
  if (at < whole.length) parts.push(h("span", { class: "gap" }, visible(whole.slice(at))));
  if (found.normalised.length > SHOWN) parts.push(h("span", { class: "note" }, ` … ${found.normalised.length - SHOWN} more`));
  return parts;
}

/** @param {any} ctx @param {any} found @param {any} tok */
function describe(ctx, found, tok) {
  ctx.inspect({
    title: tok ? `Piece ${tok.index}` : "Text to ids",
    paper: "5.1",
    says: tok ? ["The piece ", h("strong", null, bdi(visible(tok.piece))), ` is number ${tok.id}. The model sees the number only.`] : `${found.count} pieces from a vocabulary of ${ctx.model.tokenizer.size.toLocaleString("en")} (${found.kind}).`,
    equation: formula(mi("text"), mo("→"), mi("normalised"), mo("→"), mi("pieces"), mo("→"), mi("ids")),
    numbers: tok ? [["id", tok.id], ["characters", `${tok.start} … ${tok.end}`]] : [["tokens", found.count], ["unknown", num(found.unknown_ratio)]],
    shapes: [["ids", `1 × ${found.count}`]],
  });
}
