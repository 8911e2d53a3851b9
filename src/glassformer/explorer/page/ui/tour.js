/**
 * The tour: twelve stops through the paper's Figure 1, with the numbers of the reader's own sentence.
 * @module
 */

import { bdi, h, nameOf, num, percent, replace, visible } from "../dom.js";
import { renew } from "./controls.js";
import { confidence, keysOf, queriesOf } from "./traces.js";

/** @param {any} tok */
const quoted = (tok) => h("strong", { class: "mono" }, bdi(visible(nameOf(tok))));

/** A query and the key it looks at most, selected. @param {any} source @param {any} trace @param {any} patch */
async function looking(source, trace, patch) {
  const best = await strongest(source, trace, patch);
  return best ? { ...patch, key: best.at } : patch;
}

/** The key a query looks at most. @param {any} source @param {any} trace @param {any} selection */
async function strongest(source, trace, { kind, layer, head, query }) {
  try {
    const { data: row } = await source.tensor(trace.id, `${kind}.${layer}.${head}.weights`, { full: true, rows: `${query}:${query + 1}` });
    const at = row.indexOf(Math.max(...row));
    return { key: keysOf(trace, kind)[at], weight: row[at], at };
  } catch {
    return null;
  }
}

/**
 * @typedef {object} Stop
 * @property {string} title
 * @property {string[]} [families] all unless told
 * @property {(trace: any, model: any, source: any) => any} patch of the selection, or a promise of it
 * @property {(given: {trace: any, model: any, a: any, selection: any, source: any}) => any} text
 */

const BOTH = ["encoder-decoder", "decoder-only"];

/** @type {Stop[]} */
const STOPS = [
  {
    title: "A sentence goes in, a sentence comes out",
    patch: () => ({ view: "translate" }),
    text: ({ trace, a }) => {
      const steps = trace.steps;
      if (a.family === "encoder-only") return ["The model read “", h("strong", null, bdi(trace.text.source)), "”. Every one of its numbers can be looked at; this walk follows them from the first letter to the answer."];
      const least = steps.reduce((/** @type {any} */ low, /** @type {any} */ s) => (confidence(s) < confidence(low) ? s : low), steps[0]);
      return [
        "The model read “", h("strong", null, bdi(trace.text.source)), "” and wrote “", h("strong", null, bdi(trace.text.target)), "”, one piece at a time. ",
        least?.chosen ? ["It was least sure of ", quoted(least.chosen), ": probability ", percent(confidence(least)), ". "] : "",
        "The next stops follow the sentence through the machine, with the numbers of this very run. Type your own sentence above at any time.",
      ];
    },
  },
  {
    title: "Letters become pieces",
    patch: () => ({ view: "tokens" }),
    text: ({ trace, model }) => {
      const list = trace.tokens.source ?? trace.tokens.target;
      return [`The text is cut into ${list.length} pieces from a vocabulary of ${model.tokenizer.size.toLocaleString("en")}. The first is `, quoted(list[0]), `, known to the model only as number ${list[0].id}. Rare words fall into several pieces, so that nothing is unknown.`];
    },
  },
  {
    title: "Each piece becomes a list of numbers",
    patch: () => ({ view: "embedding", query: 0 }),
    text: ({ a }) => [`Each piece has a row of ${a.d_model} numbers, learned in training. ${a.scale_embedding ? `They are multiplied by √${a.d_model} ≈ ${Math.sqrt(a.d_model).toFixed(1)} (section 3.4). ` : ""}Pieces that are used alike come to have similar rows: look at the nearest neighbours below.`],
  },
  {
    title: "Where does a piece stand?",
    patch: () => ({ view: "embedding", query: 1 }),
    text: ({ a }) =>
      a.positions === "sinusoidal"
        ? "Attention by itself does not know the order of words. So a wave pattern is added to each row (section 3.5): fast waves in the first dimensions, slow ones in the last, a different mixture for each place."
        : `Attention by itself does not know the order of words. This model tells it by ${a.positions} positions; the view shows what that does.`,
  },
  {
    title: "Pieces look at each other",
    patch: (trace, _model, source) => looking(source, trace, { view: "head", kind: trace.kinds.includes("enc") ? "enc" : "dec", layer: 0, head: 0, query: 1 }),
    text: async ({ trace, selection, source }) => {
      const kind = selection.kind;
      const best = await strongest(source, trace, selection);
      const q = queriesOf(trace, kind)[selection.query];
      return [
        "Every piece asks all others how much they matter to it. Here, in one of the heads of the first layer, ", q && quoted(q), best ? [" looks most at ", quoted(best.key), " (weight ", num(best.weight), ")"] : " looks around",
        ". Each row of the picture adds up to 1. Move over the cells to read them.",
      ];
    },
  },
  {
    title: "One weight, worked out by hand",
    patch: () => ({ view: "arithmetic" }),
    text: ({ a }) => `The query and the key have ${a.d_k} numbers each. Multiplied pairwise and added up they give a score; divided by √${a.d_k} it stays in a range where the softmax still learns. The steps below use the numbers of this run; go through them with ← and →.`,
  },
  {
    title: "Many heads, many habits",
    patch: () => ({ view: "atlas" }),
    text: ({ a }) => `Each layer does this ${a.heads} times in parallel, each time with other learned projections (section 3.2.2). Some heads look at the piece before, some at the end of the sentence, some spread out. The labels say where weight lies, and nothing more.`,
  },
  {
    title: "Layer upon layer",
    patch: () => ({ view: "layers" }),
    text: ({ a }) => [
      `What attention found is added to the piece's own numbers, ${a.norm === "post" ? "then normalised" : a.norm === "pre" ? "which were normalised before" : "normalised before and after"}; then a feed-forward network of ${a.d_ff.toLocaleString("en")} units works on each piece alone (section 3.3). `,
      "This happens in every layer. The logit lens shows what the model would say if it stopped there.",
    ],
  },
  {
    title: "Not looking ahead",
    families: BOTH,
    patch: () => ({ view: "masks", kind: "dec" }),
    text: () => "While it writes, the model must not see what it has yet to write. So each position of the decoder sees only itself and what stands before it. Take the mask away in the view to see what leaks.",
  },
  {
    title: "Looking back at the source",
    families: ["encoder-decoder"],
    patch: (trace, _model, source) => {
      const query = Math.min(1, trace.shapes.cross.queries - 1);
      return looking(source, trace, { view: "head", kind: "cross", layer: trace.alignment?.layer ?? 0, head: 0, query, step: Math.min(query, Math.max(0, trace.steps.length - 1)) });
    },
    text: async ({ trace, selection, source }) => {
      const best = await strongest(source, trace, selection);
      const chosen = trace.steps[selection.query]?.chosen;
      return ["For each piece it writes, the decoder asks the encoder's output. ", chosen && best ? ["About to write ", quoted(chosen), ", this head looks most at ", quoted(best.key), " (weight ", num(best.weight), "). "] : "", "No one told the model which word belongs to which: it learned this from pairs of sentences."];
    },
  },
  {
    title: "From numbers to a word",
    patch: (_trace, model) => ({ view: model.architecture.head === "classifier" || model.architecture.head === "embedding" ? "translate" : "next-token" }),
    text: ({ trace, selection }) => {
      const step = trace.steps[selection.step];
      if (!step?.chosen) return "The last layer's numbers become the answer by one more learned matrix.";
      return ["The last layer's numbers are compared with every piece of the vocabulary, and a softmax makes probabilities of it. Here ", quoted(step.chosen), " got ", percent(confidence(step)), step.chosen.rank === 1 ? ", the most of all. " : `, rank ${step.chosen.rank}. `, "Temperature and cuts change what would be drawn: try them."];
    },
  },
  {
    title: "The best sentence, not the best word",
    families: BOTH,
    patch: (trace) => ({ view: trace.has_beam ? "beam" : "translate" }),
    text: ({ trace }) => [
      trace.has_beam ? "Beam search keeps several beginnings alive and drops the worst at each step: faded branches were looked at and left. Long outputs lose by adding up more losses, so the length penalty evens that out; move α and see the order change. " : "",
      "This was the whole way. Now mute a head, force another word, or open your own model.",
    ],
  },
  {
    title: "Now change something",
    families: ["encoder-only"],
    patch: () => ({ view: "what-if" }),
    text: () => "Attention shows where a head looked, not what it was good for. Mute a head, drop the positions or swap a word, run again, and measure the difference.",
  },
];

/** @param {string} family */
export const stopsOf = (family) => STOPS.filter((stop) => !stop.families || stop.families.includes(family));

/** @param {HTMLElement} box @param {{go: (patch: any, options?: any) => void}} how */
export function tour(box, { go }) {
  let shown = "";
  let arrived = "";

  return {
    /** @param {any} now @param {any} model @param {any} trace @param {any} source */
    async draw(now, model, trace, source) {
      if (now.level !== "tour" || !trace || !model) {
        if (shown) replace(box);
        shown = "";
        arrived = "";
        return;
      }
      const stops = stopsOf(model.architecture.family);
      const at = Math.min(now.stop, stops.length - 1);
      const stop = stops[at];
      const key = `${at} ${trace.id}`;
      if (arrived !== key) {
        arrived = key;
        const patch = await stop.patch(trace, model, source);
        if (arrived !== key) return;
        const wanted = { ...now, ...patch };
        if (Object.keys(patch).some((name) => now[name] !== wanted[name])) {
          go(patch, { replace: true });
          return; // the new selection draws this stop
        }
      }
      const wanted = `${key} ${now.query} ${now.step} ${now.layer} ${now.head} ${now.kind}`;
      if (shown === wanted) return;
      shown = wanted;
      const text = await stop.text({ trace, model, a: model.architecture, selection: now, source });
      if (shown !== wanted) return;
      const to = (/** @type {number} */ i) => go({ stop: i });
      renew(
        box,
        h(
          "section",
          { class: "tour", aria: { label: `tour, stop ${at + 1} of ${stops.length}` } },
          h("h2", null, `${at + 1}. ${stop.title}`),
          h("p", { aria: { live: "polite" } }, text),
          h(
            "div",
            { class: "tour-bar" },
            h("button", { type: "button", data: { move: "back" }, disabled: at === 0, on: { click: () => to(at - 1) } }, "Back"),
            h("button", { type: "button", class: "primary", data: { move: "next" }, on: { click: () => (at + 1 < stops.length ? to(at + 1) : go({ level: "explore" })) } }, at + 1 < stops.length ? "Next" : "Explore freely"),
            h("div", { class: "stops", role: "group", aria: { label: "stops" } }, stops.map((one, i) => h("button", { type: "button", class: i < at && "seen", title: one.title, aria: { label: `stop ${i + 1}: ${one.title}`, current: i === at ? "step" : null }, on: { click: () => to(i) } }, String(i + 1)))),
            h("button", { type: "button", class: "quiet", on: { click: () => go({ level: "explore" }) } }, "Leave the tour"),
          ),
        ),
      );
    },
  };
}
