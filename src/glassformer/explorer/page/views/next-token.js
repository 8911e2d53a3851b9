/**
 * V9 Next token: the whole distribution over the vocabulary, and what temperature and cuts make of it.
 * @module
 */

import { bdi, formula, frac, h, math, mi, mo, num, num3, percent, replace, row, sub, sup, token, visible } from "../dom.js";
import { rankRow, distribution, draw, NO_CUT, probability } from "../math/sampling.js";
import { entropy, logSumExp, softmax } from "../math/softmax.js";
import { dice } from "../math/random.js";
import { headColour } from "../draw/colour.js";
import { chart, dashOf } from "../ui/chart.js";
import { button, renew, slider, toggle } from "../ui/controls.js";
import { latest } from "../ui/latest.js";
import { bar, card, figures, loading, nothing, pythonOfTrace } from "../ui/parts.js";

const SHOWN = 20;
const DRAWS = 20;
const FOUND = 8;
const STEPS = 96;
/** The decoder refuses more; the page may show it. */
const HOTTEST = 2;
const TOP_K = [0, 1, 2, 3, 4, 5, 8, 10, 15, 20, 30, 40, 50, 75, 100, 150, 200, 300, 500, 1000];

/** What the reader has set: it stays while steps and sentences change. */
const kept = {
  cut: { ...NO_CUT },
  seed: 1,
  sampled: false,
  without: false,
  /** @type {number[]} */ pins: [],
};

/** Places of the slider to temperatures: 0 is greedy, then 0.05 to 5 in equal ratios. @param {number} place */
const temperatureAt = (place) => (place === 0 ? 0 : Number((0.05 * 100 ** ((place - 1) / 100)).toPrecision(2)));
/** @param {number} temperature */
const placeOf = (temperature) => (temperature === 0 ? 0 : Math.round(1 + 100 * (Math.log(temperature / 0.05) / Math.log(100))));

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
  let never = -1;
  const [asking, askingPins] = [latest(), latest()];

  const sentence = h("div", { class: "so-far" });
  const numbers = h("div", { class: "figures-slot" });
  const rows = h("tbody");
  const drawn = h("div", { class: "draws" });
  const found = h("div", { class: "found", role: "status" });
  const overSteps = h("section", { class: "card", hidden: true, aria: { label: "pinned tokens" } });
  const ranks = chart(ctx, { label: "Probability of each token by rank", xLabel: "rank (log)", yLabel: "probability (log)", height: 230, legend: false });
  const sums = chart(ctx, { label: "Share of the best tokens together", xLabel: "rank (log)", yLabel: "share together", height: 230, legend: false });
  const pinned = chart(ctx, { label: "Pinned tokens over the steps", xLabel: "step", yLabel: "probability", height: 190 });
  overSteps.append(h("h3", null, "Pinned tokens at every step (T = 1, no cut)"), pinned.element);

  const search = h("input", { type: "search", placeholder: "any word or piece", aria: { label: "look up a token" }, autocomplete: "off", spellcheck: false, on: { input: () => lookUp() } });
  const seedBox = h("input", { type: "number", min: 0, max: 4294967295, value: kept.seed, class: "seed", aria: { label: "seed" }, on: { input: () => reseed(Number(seedBox.value)) } });
  const levers = h("div", { class: "levers even" });
  const table = h(
    "div",
    { class: "scroll-x", tabIndex: 0, role: "region", aria: { label: "the most likely tokens" } },
    h(
      "table",
      { class: "candidates" },
      h("caption", { class: "sr-only" }, "The most likely tokens, from logit to draw"),
      h("thead", null, h("tr", null, ["", "rank", "token", "logit z", "z ÷ T", "softmax", "after the cut", "drawn"].map((name) => h("th", { scope: "col" }, name === "" ? h("span", { class: "sr-only" }, "pin") : name)))),
      rows,
    ),
  );
  const loadingLine = loading("reading the distribution");
  stage.append(
    sentence,
    h("section", { class: "card", aria: { label: "temperature and cuts" } }, levers),
    loadingLine,
    card("The whole vocabulary", numbers, h("div", { class: "two-charts" }, ranks.element, sums.element)),
    card("From logits to a draw", drawn, table, h("p", { class: "note" }, "The longest bar is the largest number shown."), h("div", { class: "row look-up" }, h("label", { class: "field" }, h("span", null, "Look up"), search), found)),
    overSteps,
  );

  function setLevers() {
    const cut = kept.cut;
    renew(
      levers,
      slider({ label: "temperature T", min: 0, max: 101, step: 1, value: placeOf(cut.temperature), format: (x) => (x === 0 ? "0 greedy" : num3(temperatureAt(x))), oninput: (x) => change({ temperature: temperatureAt(x) }) }),
      slider({ label: "top-k", min: 0, max: TOP_K.length - 1, step: 1, value: TOP_K.indexOf(cut.topK), format: (x) => (x === 0 ? "all" : String(TOP_K[x])), oninput: (x) => change({ topK: TOP_K[x] }) }),
      slider({ label: "top-p", min: 0.01, max: 1, step: 0.01, value: cut.topP, format: (x) => (x === 1 ? "1 all" : x.toFixed(2)), oninput: (x) => change({ topP: x }) }),
      slider({ label: "min-p", min: 0, max: 1, step: 0.005, value: cut.minP, format: (x) => (x === 0 ? "0 all" : x.toFixed(3)), oninput: (x) => change({ minP: x }) }),
      h(
        "div",
        { class: "row whole" },
        h("label", { class: "field" }, h("span", null, "seed"), seedBox),
        button(`Sample ${DRAWS}`, () => sample(), { class: "primary" }),
        button("Next seed", () => { seedBox.value = kept.seed + 1; reseed(kept.seed + 1); sample(); }),
        button("Reset", () => { Object.assign(kept.cut, NO_CUT); kept.sampled = false; setLevers(); refresh(); }, { class: "quiet" }),
      ),
      never > 0 && h("div", { class: "whole" }, toggle({ label: `leave out the ${never} ids that decoding never chooses`, checked: kept.without, onchange: (checked) => { kept.without = checked; prepare(); } })),
    );
  }

  /** @param {Partial<import("../math/sampling.js").Cut>} patch */
  function change(patch) {
    Object.assign(kept.cut, patch);
    refresh();
  }

  /** @param {number} seed */
  function reseed(seed) {
    if (!Number.isInteger(seed) || seed < 0) return;
    kept.seed = seed;
    if (kept.sampled) refresh();
  }

  function sample() {
    kept.sampled = true;
    refresh();
    if (now) ctx.announce(`drawn: ${[...counts(now.d)].map(([id, count]) => `${pieces[id]} ${count}`).join(", ")}`);
  }

  /** @param {any} d @returns {Map<number, number>} how often each id was drawn, most often first */
  function counts(d) {
    const next = dice(kept.seed);
    const ids = draw(d, Array.from({ length: DRAWS }, next));
    /** @type {Map<number, number>} */
    const count = new Map();
    for (const id of ids) count.set(id, (count.get(id) ?? 0) + 1);
    return new Map([...count].sort((a, b) => b[1] - a[1] || a[0] - b[0]));
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
    showSentence();
    if (never !== now.never.length) {
      never = now.never.length; // otherwise the levers stay as they are, perhaps in somebody's hand
      setLevers();
    }
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
    now.at = sampleRanks(logits.length);
    listRows();
    refresh();
    lookUp();
    showPins();
  }

  function listRows() {
    const { row: ranked, entry } = now;
    const wanted = new Set([...kept.pins.filter((id) => id < pieces.length), ...ranked.order.slice(0, SHOWN)]);
    if (entry.chosen) wanted.add(entry.chosen.id);
    const ids = [...wanted].sort((a, b) => ranked.rank[a] - ranked.rank[b]);
    now.lines = ids.map((id) => line(id));
    renew(rows, now.lines.map((/** @type {any} */ each) => each.element));
  }

  /** @param {number} id */
  function line(id) {
    const chosen = now.entry.chosen?.id === id;
    const pin = kept.pins.includes(id);
    const before = bar();
    const after = bar(ctx.trace.family === "encoder-only" ? "enc" : "dec");
    const divided = h("td", { class: "numeric" });
    const times = h("td", { class: "numeric" });
    const element = h(
      "tr",
      { class: [chosen && "chosen", pin && "pinned"] },
      h("td", null, button(pin ? "★" : "☆", () => togglePin(id), { class: "quiet pin", aria: { pressed: String(pin), label: `pin ${pieces[id]}` } })),
      h("td", { class: "numeric" }, String(now.row.rank[id] + 1)),
      h("th", { scope: "row" }, token({ text: pieces[id], id }), chosen && h("span", { class: "chip" }, "chosen")),
      h("td", { class: "numeric" }, num(now.row.logits[id])),
      divided,
      h("td", null, before.element),
      h("td", null, after.element),
      times,
    );
    return { id, element, before, after, divided, times };
  }

  function refresh() {
    if (!now?.row) return;
    const cut = kept.cut;
    const d = distribution(now.row, cut);
    now.d = d;
    const drawnNow = kept.sampled ? counts(d) : new Map();
    const longest = Math.max(d.tempered[0], d.tempered[0] / d.mass);
    for (const each of now.lines) {
      const p = d.tempered[now.row.rank[each.id]];
      const q = probability(d, each.id);
      const z = now.row.logits[each.id];
      replace(each.divided, cut.temperature === 0 ? "–" : num3(z / cut.temperature));
      each.before.set(p / longest, num3(p), String(p));
      each.after.set(q / longest, q === 0 ? "cut" : num3(q), String(q));
      each.element.classList.toggle("cut", q === 0);
      replace(each.times, drawnNow.get(each.id) ? `${drawnNow.get(each.id)}×` : "");
    }
    showNumbers(d);
    showDraws(drawnNow);
    later();
  }

  /** Curves once a frame, the inspector when the lever rests: a lever must not wait for them. */
  function later() {
    curving ||= requestAnimationFrame(() => {
      curving = 0;
      showCurves(now.d);
    });
    clearTimeout(resting);
    resting = window.setTimeout(() => inspect(now.d), 120);
  }

  /** @param {any} d */
  function showNumbers(d) {
    const left = d.left;
    const size = d.tempered.length;
    const share = d.tempered.subarray(0, d.kept).map((/** @type {number} */ p) => p / d.mass);
    const uncertain = entropy(share);
    const chosen = now.entry.chosen;
    replace(
      numbers,
      figures([
        ["can be drawn", `${d.kept} of ${size}`, `after top-k ${left.topK}, after top-p ${left.topP}, after min-p ${left.minP}`],
        ["their share before", percent(d.mass), "probability that the kept tokens had together before they were scaled to 1"],
        ["entropy", `${num3(uncertain)} nats`, "of what is drawn from"],
        ["like a choice of", num3(Math.exp(uncertain)), "exp(entropy): as uncertain as this many equally likely tokens"],
        ["chosen", chosen ? `${visible(chosen.piece)} · rank ${now.row.rank[chosen.id] + 1}` : "–", "what the decoder took here, and its rank"],
        ["p of the chosen", chosen ? num3(probability(d, chosen.id)) : "–", "under the levers"],
      ]),
    );
  }

  /** @param {any} d */
  function showCurves(d) {
    const { at } = now;
    const p = at.map((/** @type {number} */ rank) => d.tempered[rank - 1]);
    const floor = Math.max(1e-12, Math.min(...p.filter((/** @type {number} */ x) => x > 0)));
    /** @type {number[]} */
    const together = [];
    let sum = 0;
    for (let rank = 1, i = 0; rank <= d.tempered.length && i < at.length; rank++) {
      sum += d.tempered[rank - 1];
      if (rank === at[i]) {
        together.push(Math.min(1, sum));
        i++;
      }
    }
    const bands = [{ from: 1, to: Math.max(1.04, d.kept) }];
    /** @param {number} rank */
    const xText = (rank) => `rank ${rank}: ${visible(pieces[now.row.order[rank - 1]] ?? "")}`;
    const original = at.map((/** @type {number} */ rank) => now.plain[now.row.order[rank - 1]]);
    const changed = kept.cut.temperature !== 1;
    ranks.draw({
      xLog: true,
      yLog: true,
      yDomain: [floor, 1],
      bands,
      xText,
      series: [
        ...(changed ? [{ name: "T = 1", x: at, y: original.map((/** @type {number} */ x) => (x > 0 ? x : NaN)), colour: "var(--muted)", dash: dashOf(2) }] : []),
        { name: `T = ${num3(kept.cut.temperature)}${d.kept < d.tempered.length ? " (shaded: kept)" : ""}`, x: at, y: p.map((/** @type {number} */ x) => (x > 0 ? x : NaN)), colour: "var(--accent)", area: true },
      ],
    });
    sums.draw({
      xLog: true,
      yDomain: [0, 1],
      bands,
      xText,
      series: [{ name: "share together", x: at, y: together, colour: "var(--accent)" }],
    });
  }

  /** @param {Map<number, number>} count */
  function showDraws(count) {
    if (!kept.sampled) {
      replace(drawn, h("p", { class: "note" }, `“Sample ${DRAWS}” draws ${DRAWS} tokens with this seed; move a lever and the same random numbers fall on other tokens.`));
      return;
    }
    replace(drawn, h("ul", { class: "draw-list" }, [...count].map(([id, times]) => h("li", null, token({ text: pieces[id], id }), h("span", { class: "num" }, ` ${times}×`)))));
  }

  function showSentence() {
    const { step, entry } = now;
    const side = ctx.trace.family === "encoder-only" ? "source" : "target";
    const tokens = ctx.trace.tokens[side];
    const blank = entry.position;
    const before = blank === undefined ? tokens.slice(0, step + 1) : tokens;
    const first = Math.max(0, before.length - 24);
    renew(
      sentence,
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
    );
  }

  function lookUp() {
    const wanted = search.value.trim();
    if (!wanted || !now?.row) {
      replace(found);
      return;
    }
    const hits = matches(pieces, wanted);
    renew(
      found,
      hits.length === 0 && h("span", { class: "note" }, "no token of the vocabulary contains this; a rare word is written with several"),
      hits.map((id) =>
        h(
          "span",
          { class: "found-one" },
          token({ text: pieces[id], id }),
          h("span", { class: "num note" }, `rank ${now.row.rank[id] + 1}, p ${num3(now.plain[id])}`),
          button(kept.pins.includes(id) ? "★" : "☆", () => togglePin(id), { class: "quiet pin", aria: { pressed: String(kept.pins.includes(id)), label: `pin ${pieces[id]}` } }),
        ),
      ),
    );
  }

  /** @param {number} id */
  function togglePin(id) {
    kept.pins = kept.pins.includes(id) ? kept.pins.filter((each) => each !== id) : [...kept.pins, id].slice(-8);
    ctx.announce(kept.pins.includes(id) ? `${pieces[id]} pinned` : `${pieces[id]} unpinned`);
    prepare();
  }

  /** The pinned tokens at every step of this output. */
  async function showPins() {
    const last = askingPins();
    const pins = kept.pins.filter((id) => id < pieces.length);
    overSteps.hidden = pins.length === 0 || steps.length < 2;
    if (overSteps.hidden) return;
    const first = Math.max(0, Math.min(now.step - STEPS / 2, steps.length - STEPS));
    const window_ = steps.slice(first, first + STEPS);
    try {
      const lines = await Promise.all(
        window_.map(async (/** @type {any} */ entry, /** @type {number} */ i) => {
          const { data } = await ctx.source.logits(ctx.trace.id, entry.position ?? entry.step ?? first + i, { signal: ctx.signal });
          const total = logSumExp(data);
          return pins.map((id) => Math.exp(data[id] - total));
        }),
      );
      if (!last() || ctx.signal.aborted) return;
      const x = window_.map((/** @type {any} */ _, /** @type {number} */ i) => first + i);
      pinned.draw({
        yDomain: [0, 1],
        marks: [{ x: now.step, label: "here" }],
        onpick: (at) => ctx.select({ step: Math.round(at) }),
        xText: (at) => `step ${at}`,
        series: pins.map((id, i) => ({ name: visible(pieces[id]), x, y: lines.map((each) => each[i]), colour: headColour(i), dash: dashOf(i), dots: true })),
      });
    } catch {
      if (last()) overSteps.hidden = true;
    }
  }

  /** @param {any} d */
  function inspect(d) {
    const chosen = now.entry.chosen;
    const cut = kept.cut;
    ctx.inspect({
      title: "From logits to a distribution",
      paper: "3.4",
      equation: formula(
        sub(mi("p"), mi("i")),
        mo("="),
        frac(sup(mi("e"), row(sub(mi("z"), mi("i")), mo("/"), mi("T"))), row(math("munder", null, mo("∑"), mi("j")), sup(mi("e"), row(sub(mi("z"), mi("j")), mo("/"), mi("T"))))),
      ),
      says: chosen
        ? ["At T = ", num(cut.temperature), " the model gives ", bdi(visible(chosen.piece)), " a probability of ", num(d.tempered[now.row.rank[chosen.id]]), " before any cut."]
        : "The last row of logits, over the whole vocabulary.",
      numbers: [
        ["log Σ exp(z)", now.logZ],
        ["largest logit", now.row.logits[now.row.order[0]]],
        ["entropy at T = 1", now.entry.entropy],
        ["left after top-k", d.left.topK],
        ["left after top-p", d.left.topP],
        ["left after min-p", d.left.minP],
      ],
      shapes: [["logits", `[${d.tempered.length}]`]],
      python: python(),
    });
  }

  function python() {
    const { temperature, topK, topP, minP } = kept.cut;
    const row = `trace.logits[${now?.entry.position ?? now?.step ?? 0}]`;
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
    picture: () => ranks.picture,
    python,
  };
}

/** Ranks at which the curve is drawn: all of the first hundred, then in equal ratios; 1 is the best. @param {number} size */
function sampleRanks(size) {
  const ranks = [];
  for (let rank = 1; rank <= size; rank = rank < 100 ? rank + 1 : Math.ceil(rank * 1.025)) ranks.push(rank);
  if (ranks.length && ranks[ranks.length - 1] !== size) ranks.push(size);
  return ranks;
}

/** Ids whose piece is the word, begins with it or holds it, in this order. @param {string[]} pieces @param {string} wanted */
function matches(pieces, wanted) {
  const low = wanted.toLowerCase();
  /** @type {number[][]} */
  const classes = [[], [], [], []];
  for (let id = 0; id < pieces.length; id++) {
    const piece = pieces[id];
    const bare = piece.replace(/^[▁\s]+/, "");
    if (piece === wanted || bare === wanted) classes[0].push(id);
    else if (bare.toLowerCase() === low) classes[1].push(id);
    else if (bare.toLowerCase().startsWith(low)) classes[2].push(id);
    else if (piece.toLowerCase().includes(low)) classes[3].push(id);
  }
  return classes.flat().slice(0, FOUND);
}
