/**
 * V9 Next token: the whole distribution over the vocabulary, and what temperature and cuts make of it.
 * @module
 */

import { bdi, formula, frac, h, math, mi, mo, num, num3, percent, replace, row, sub, sup, token, visible } from "../dom.js";
import { distribution, NO_CUT, probability, rankRow } from "../math/sampling.js";
import { entropy, logSumExp, softmax } from "../math/softmax.js";
import { button, renew } from "../ui/controls.js";
import { latest } from "../ui/latest.js";
import { card, figures, loading, nothing, pythonOfTrace } from "../ui/parts.js";
import { pinnedCurves, rankCurves } from "./next-token/curves.js";
import { candidates, counts, levers } from "./next-token/draws.js";

/** The decoder refuses more; the page may show it. */
const HOTTEST = 2;

/** What the reader has set: it stays while steps and sentences change. */
const kept = {
  cut: { ...NO_CUT },
  seed: 1,
  sampled: false,
  without: false,
  /** @type {number[]} */ pins: [],
};

/** @type {import("../ui/types.js").View} */
export const view = {
  id: "next-token",
  title: "Next token",
  about: "How likely each token of the whole vocabulary is at one step, and what temperature and cuts do to it",
  families: ["encoder-decoder", "decoder-only", "encoder-only"],
  async mount(stage, ctx) {
    if (!ctx.trace.has_logits || !ctx.trace.steps.length) {
      stage.append(nothing("This model gives no distribution over a vocabulary here; a masked language model needs a [MASK] in the text."));
      return {};
    }
    return nextToken(stage, ctx, await vocabulary(ctx));
  },
};

/** Pieces by id. @param {any} ctx @returns {Promise<string[]>} */
async function vocabulary(ctx) {
  const side = ctx.trace.family === "encoder-only" ? "source" : "target";
  const found = await ctx.source.json(`runs/${encodeURIComponent(ctx.trace.run)}/vocabulary?side=${side}`, { signal: ctx.signal });
  return found.pieces;
}

/** @param {HTMLElement} stage @param {any} ctx @param {string[]} pieces @returns {Promise<import("../ui/types.js").Mounted>} */
async function nextToken(stage, ctx, pieces) {
  const steps = ctx.trace.steps;
  /** @type {any} */
  let now = null;
  let curving = 0;
  let resting = 0;
  const asking = latest();

  const sentence = h("div", { class: "so-far" });
  const numbers = h("div", { class: "figures-slot" });
  const controls = levers(kept, { refresh, prepare, sample });
  const curves = rankCurves(ctx, pieces);
  const pinned = pinnedCurves(ctx, pieces);
  const listed = candidates(ctx, pieces, { isPinned: (id) => kept.pins.includes(id), togglePin });
  const loadingLine = loading("reading the distribution");
  stage.append(
    sentence,
    h("section", { class: "card", aria: { label: "temperature and cuts" } }, controls.element),
    loadingLine,
    card("The whole vocabulary", numbers, curves.element),
    listed.element,
    pinned.element,
  );

  function sample() {
    kept.sampled = true;
    refresh();
    if (now) ctx.announce(`drawn: ${[...counts(now.d, kept.seed)].map(([id, count]) => `${pieces[id]} ${count}`).join(", ")}`);
  }

  /** @param {number} wanted */
  async function load(wanted) {
    const step = Math.max(0, Math.min(steps.length - 1, wanted));
    const entry = steps[step];
    const place = entry.position ?? entry.step ?? step;
    const last = asking();
    try {
      const { data, headers } = await ctx.source.logits(ctx.trace.id, place, { signal: ctx.signal });
      if (!last() || ctx.signal.aborted) return;
      now = { step, entry, logits: data, never: (headers["x-never"] ?? "").split(",").filter(Boolean).map(Number) };
    } catch (error) {
      if (last() && !ctx.signal.aborted) ctx.error(error);
      return;
    }
    loadingLine.hidden = true;
    renew(sentence, soFar(ctx, step));
    controls.setNever(now.never.length);
    prepare();
  }

  /** Everything that no lever changes. */
  function prepare() {
    if (!now) return;
    let logits = now.logits;
    if (kept.without) {
      logits = Float32Array.from(logits);
      for (const id of now.never) logits[id] = -Infinity;
    }
    now.row = rankRow(logits);
    now.logZ = logSumExp(logits);
    now.plain = softmax(logits);
    const pins = kept.pins.filter((id) => id < pieces.length);
    listed.list(now, pins);
    refresh();
    pinned.draw(pins, now.step);
  }

  function refresh() {
    if (!now?.row) return;
    const d = distribution(now.row, kept.cut);
    now.d = d;
    listed.refresh(d, kept.cut.temperature, kept.sampled ? counts(d, kept.seed) : null);
    replace(numbers, numbersOf(now));
    later();
  }

  /** Curves once a frame, the inspector when the lever rests: a lever must not wait for them. */
  function later() {
    curving ||= requestAnimationFrame(() => {
      curving = 0;
      curves.draw(now, kept.cut.temperature);
    });
    clearTimeout(resting);
    resting = window.setTimeout(() => ctx.inspect({ ...explained(now, kept.cut.temperature), python: python() }), 120);
  }

  /** @param {number} id */
  function togglePin(id) {
    kept.pins = kept.pins.includes(id) ? kept.pins.filter((each) => each !== id) : [...kept.pins, id].slice(-8);
    ctx.announce(kept.pins.includes(id) ? `${pieces[id]} pinned` : `${pieces[id]} unpinned`);
    prepare();
  }

  const python = () => pythonOfDraw(ctx, now?.entry.position ?? now?.step ?? 0);

  await load(ctx.store.get().step);
  return {
    update(selection, before) {
      if (selection.step !== before.step) load(selection.step);
    },
    table() {
      if (!now?.d) return null;
      return {
        caption: `All tokens at step ${now.step}, best first`,
        columns: [{ label: "rank", numeric: true }, { label: "token" }, { label: "id", numeric: true }, { label: "logit", numeric: true }, { label: "p at T", numeric: true }, { label: "p after the cut", numeric: true }],
        count: now.row.order.length,
        row: (i) => {
          const id = now.row.order[i];
          return [i + 1, pieces[id], id, now.row.logits[id], now.d.tempered[i], probability(now.d, id)];
        },
      };
    },
    key(event) {
      if (event.key === "s") sample();
      else return false;
      return true;
    },
    picture: curves.picture,
    python,
  };
}

/** What stands before the step, and the way to the steps beside it. @param {any} ctx @param {number} step */
function soFar(ctx, step) {
  const steps = ctx.trace.steps;
  const entry = steps[step];
  const side = ctx.trace.family === "encoder-only" ? "source" : "target";
  const tokens = ctx.trace.tokens[side];
  const blank = entry.position;
  const before = blank === undefined ? tokens.slice(0, step + 1) : tokens;
  const first = Math.max(0, before.length - 24);
  return [
    h(
      "p",
      { class: "so-far-line" },
      h("span", { class: "note" }, blank === undefined ? `step ${step}, after` : `blank at position ${blank} of`),
      first > 0 && blank === undefined && "…",
      (blank === undefined ? before.slice(first) : before).map((/** @type {any} */ each, /** @type {number} */ i) => token({ text: each.piece, id: each.id, special: each.special }, { class: i === blank && "selected" })),
      h("span", { aria: { hidden: "true" } }, "→"),
      entry.chosen ? token({ text: entry.chosen.piece, id: entry.chosen.id }, { class: "selected" }) : h("span", { class: "note" }, "nothing chosen"),
    ),
    h(
      "span",
      { class: "row" },
      button("◀", () => ctx.select({ step: Math.max(0, step - 1) }), { aria: { label: "previous step" }, disabled: step === 0 }),
      h("span", { class: "num note" }, `${step + 1} / ${steps.length}`),
      button("▶", () => ctx.select({ step: Math.min(steps.length - 1, step + 1) }), { aria: { label: "next step" }, disabled: step === steps.length - 1 }),
    ),
  ];
}

/** What the levers leave, in figures. @param {any} now */
function numbersOf({ d, row: ranked, entry: { chosen } }) {
  const left = d.left;
  const size = d.tempered.length;
  const share = d.tempered.subarray(0, d.kept).map((/** @type {number} */ p) => p / d.mass);
  const uncertain = entropy(share);
  return figures([
    ["can be drawn", `${d.kept} of ${size}`, `after top-k ${left.topK}, after top-p ${left.topP}, after min-p ${left.minP}`],
    ["their share before", percent(d.mass), "probability that the kept tokens had together before they were scaled to 1"],
    ["entropy", `${num3(uncertain)} nats`, "of what is drawn from"],
    ["like a choice of", num3(Math.exp(uncertain)), "exp(entropy): as uncertain as this many equally likely tokens"],
    ["chosen", chosen ? `${visible(chosen.piece)} · rank ${ranked.rank[chosen.id] + 1}` : "–", "what the decoder took here, and its rank"],
    ["p of the chosen", chosen ? num3(probability(d, chosen.id)) : "–", "under the levers"],
  ]);
}

/** For the inspector. @param {any} now @param {number} temperature */
function explained({ d, row: ranked, entry, logZ }, temperature) {
  const chosen = entry.chosen;
  return {
    title: "From logits to a distribution",
    paper: "3.4",
    equation: formula(
      sub(mi("p"), mi("i")),
      mo("="),
      frac(sup(mi("e"), row(sub(mi("z"), mi("i")), mo("/"), mi("T"))), row(math("munder", null, mo("∑"), mi("j")), sup(mi("e"), row(sub(mi("z"), mi("j")), mo("/"), mi("T"))))),
    ),
    says: chosen
      ? ["At T = ", num(temperature), " the model gives ", bdi(visible(chosen.piece)), " a probability of ", num(d.tempered[ranked.rank[chosen.id]]), " before any cut."]
      : "The last row of logits, over the whole vocabulary.",
    numbers: [
      ["log Σ exp(z)", logZ],
      ["largest logit", ranked.logits[ranked.order[0]]],
      ["entropy at T = 1", entry.entropy],
      ["left after top-k", d.left.topK],
      ["left after top-p", d.left.topP],
      ["left after min-p", d.left.minP],
    ],
    shapes: [["logits", `[${d.tempered.length}]`]],
  };
}

/** @param {any} ctx @param {number} place */
function pythonOfDraw(ctx, place) {
  const { temperature, topK, topP, minP } = kept.cut;
  const row = `trace.logits[${place}]`;
  if (temperature > HOTTEST) return [pythonOfTrace(ctx), `p = (${row}.double() / ${temperature}).softmax(-1)   # before any cut`].join("\n");
  return [
    pythonOfTrace(ctx),
    "",
    "from glassformer.config import DecodeConfig",
    "from glassformer.decoding.sampling import distribution",
    "",
    `config = DecodeConfig(temperature=${temperature}, top_k=${topK}, top_p=${topP}, min_p=${minP})`,
    `p = distribution(${row}.log_softmax(-1)[None], config)[0]`,
  ].join("\n");
}
