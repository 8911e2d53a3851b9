/**
 * From logits to a draw: the levers for it, the most likely tokens under them, and any other that is looked up.
 * @module
 */

import { h, num, num3, replace, token } from "../../dom.js";
import { dice } from "../../math/random.js";
import { draw, NO_CUT, probability } from "../../math/sampling.js";
import { button, renew, slider, toggle } from "../../ui/controls.js";
import { bar, card } from "../../ui/parts.js";

const DRAWS = 20;
const SHOWN = 20;
const FOUND = 8;
const TOP_K = [0, 1, 2, 3, 4, 5, 8, 10, 15, 20, 30, 40, 50, 75, 100, 150, 200, 300, 500, 1000];

/** Places of the slider to temperatures: 0 is greedy, then 0.05 to 5 in equal ratios. @param {number} place */
const temperatureAt = (place) => (place === 0 ? 0 : Number((0.05 * 100 ** ((place - 1) / 100)).toPrecision(2)));
/** @param {number} temperature */
const placeOf = (temperature) => (temperature === 0 ? 0 : Math.round(1 + 100 * (Math.log(temperature / 0.05) / Math.log(100))));

/**
 * What the reader sets: temperature, cuts and seed.
 * @param {{cut: import("../../math/sampling.js").Cut, seed: number, sampled: boolean, without: boolean}} kept is changed in place
 * @param {{refresh: () => void, prepare: () => void, sample: () => void}} how `prepare`: which tokens count has changed too
 */
export function levers(kept, { refresh, prepare, sample }) {
  const element = h("div", { class: "levers even" });
  const seedBox = h("input", { type: "number", min: 0, max: 4294967295, value: kept.seed, class: "seed", aria: { label: "seed" }, on: { input: () => reseed(Number(seedBox.value)) } });
  let never = -1;

  function show() {
    const cut = kept.cut;
    renew(
      element,
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
        button("Reset", () => { Object.assign(kept.cut, NO_CUT); kept.sampled = false; show(); refresh(); }, { class: "quiet" }),
      ),
      never > 0 && h("div", { class: "whole" }, toggle({ label: `leave out the ${never} ids that decoding never chooses`, checked: kept.without, onchange: (checked) => { kept.without = checked; prepare(); } })),
    );
  }

  /** @param {Partial<import("../../math/sampling.js").Cut>} patch */
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

  return {
    element,
    /** @param {number} count of ids that decoding never chooses */
    setNever(count) {
      if (never === count) return; // the levers stay as they are, perhaps in somebody's hand
      never = count;
      show();
    },
  };
}

/**
 * The most likely tokens, and a field that finds any other; a star pins one.
 * @param {any} ctx @param {string[]} pieces
 * @param {{isPinned: (id: number) => boolean, togglePin: (id: number) => void}} how
 */
export function candidates(ctx, pieces, { isPinned, togglePin }) {
  /** @type {any} */
  let now = null;
  /** @type {any[]} */
  let lines = [];
  const rows = h("tbody");
  const drawn = h("div", { class: "draws" });
  const found = h("div", { class: "found", role: "status" });
  const search = h("input", { type: "search", placeholder: "any word or piece", aria: { label: "look up a token" }, autocomplete: "off", spellcheck: false, on: { input: () => lookUp() } });
  const columns = ["", "rank", "token", "logit z", "z ÷ T", "softmax", "after the cut", "drawn"];
  const table = h(
    "div",
    { class: "scroll-x", tabIndex: 0, role: "region", aria: { label: "the most likely tokens" } },
    h(
      "table",
      { class: "candidates" },
      h("caption", { class: "sr-only" }, "The most likely tokens, from logit to draw"),
      h("thead", null, h("tr", null, columns.map((name) => h("th", { scope: "col" }, name === "" ? h("span", { class: "sr-only" }, "pin") : name)))),
      rows,
    ),
  );

  /** @param {number} id */
  const star = (id) => button(isPinned(id) ? "★" : "☆", () => togglePin(id), { class: "quiet pin", aria: { pressed: String(isPinned(id)), label: `pin ${pieces[id]}` } });

  /** @param {number} id */
  function line(id) {
    const chosen = now.entry.chosen?.id === id;
    const before = bar();
    const after = bar(ctx.trace.family === "encoder-only" ? "enc" : "dec");
    const divided = h("td", { class: "numeric" });
    const times = h("td", { class: "numeric" });
    const element = h(
      "tr",
      { class: [chosen && "chosen", isPinned(id) && "pinned"] },
      h("td", null, star(id)),
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

  function lookUp() {
    const wanted = search.value.trim();
    if (!wanted || !now) {
      replace(found);
      return;
    }
    const hits = matches(pieces, wanted);
    renew(
      found,
      hits.length === 0 && h("span", { class: "note" }, "no token of the vocabulary contains this; a rare word is written with several"),
      hits.map((id) => h("span", { class: "found-one" }, token({ text: pieces[id], id }), h("span", { class: "num note" }, `rank ${now.row.rank[id] + 1}, p ${num3(now.plain[id])}`), star(id))),
    );
  }

  return {
    element: card("From logits to a draw", drawn, table, h("p", { class: "note" }, "The longest bar is the largest number shown."), h("div", { class: "row look-up" }, h("label", { class: "field" }, h("span", null, "Look up"), search), found)),
    /** The tokens of another row. @param {any} next @param {number[]} pins */
    list(next, pins) {
      now = next;
      const wanted = new Set([...pins, ...now.row.order.slice(0, SHOWN)]);
      if (now.entry.chosen) wanted.add(now.entry.chosen.id);
      lines = [...wanted].sort((a, b) => now.row.rank[a] - now.row.rank[b]).map(line);
      renew(rows, lines.map((each) => each.element));
      lookUp();
    },
    /** Under other levers. @param {any} d @param {number} temperature @param {Map<number, number> | null} count how often each was drawn */
    refresh(d, temperature, count) {
      const longest = Math.max(d.tempered[0], d.tempered[0] / d.mass);
      for (const each of lines) {
        const p = d.tempered[now.row.rank[each.id]];
        const q = probability(d, each.id);
        const z = now.row.logits[each.id];
        replace(each.divided, temperature === 0 ? "–" : num3(z / temperature));
        each.before.set(p / longest, num3(p), String(p));
        each.after.set(q / longest, q === 0 ? "cut" : num3(q), String(q));
        each.element.classList.toggle("cut", q === 0);
        replace(each.times, count?.has(each.id) ? `${count.get(each.id)}×` : "");
      }
      replace(drawn, count ? drawList(count, pieces) : h("p", { class: "note" }, `“Sample ${DRAWS}” draws ${DRAWS} tokens with this seed; move a lever and the same random numbers fall on other tokens.`));
    },
  };
}

/** @param {Map<number, number>} count @param {string[]} pieces */
function drawList(count, pieces) {
  return h("ul", { class: "draw-list" }, [...count].map(([id, times]) => h("li", null, token({ text: pieces[id], id }), h("span", { class: "num" }, ` ${times}×`))));
}

/** @param {any} d @param {number} seed @returns {Map<number, number>} how often each id was drawn, most often first */
export function counts(d, seed) {
  const next = dice(seed);
  const ids = draw(d, Array.from({ length: DRAWS }, next));
  /** @type {Map<number, number>} */
  const count = new Map();
  for (const id of ids) count.set(id, (count.get(id) ?? 0) + 1);
  return new Map([...count].sort((a, b) => b[1] - a[1] || a[0] - b[0]));
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
