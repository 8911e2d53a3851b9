/**
 * Changes that can be made inside a model: which there are, what they are called, and the form that makes one.
 * @module
 */

import { h, num3, visible } from "../../dom.js";
import { button, renew, select } from "../../ui/controls.js";
import { pieceOf, tokensOf } from "../../ui/parts.js";
import { KINDS, KIND_SHORT } from "../../ui/types.js";

/** @type {Record<string, string>} */
const TYPES = {
  mute: "mute a head",
  keep: "keep only some heads",
  uniform: "spread a head evenly",
  edge: "set one weight",
  block: "forbid a look",
  scale: "divide by something else than √d_k",
  positions: "drop or shift positions",
  feed_forward: "leave out a feed-forward network",
  swap: "another word in the input",
  force: "another token in the output",
  causal: "let the decoder see ahead",
};

/** @param {any} trace */
export const kindsOf = (trace) => KINDS.filter((kind) => trace.kinds.includes(kind));

/** What can be changed in this model. @param {any} trace @returns {string[]} */
function typesFor(trace) {
  return Object.keys(TYPES).filter((type) => {
    if (type === "causal") return trace.family !== "encoder-only";
    if (type === "force") return trace.family !== "encoder-only" && trace.steps.length > 0;
    if (type === "swap") return (trace.words.source ?? trace.words.target ?? []).length > 0 && trace.family !== "decoder-only";
    if (type === "positions") return trace.architecture.positions !== "none";
    return true;
  });
}

/** Whether a change that was made for another trace can be made to this one. @param {any} trace @param {any} each */
export function fits(trace, each) {
  const shape = each.kind ? trace.shapes[each.kind] : each.stack ? trace.shapes[each.stack] : null;
  if ((each.kind || each.stack) && !shape) return false;
  if (shape && ((each.layer ?? 0) >= shape.layers || (each.head ?? 0) >= shape.heads)) return false;
  if (shape && ((each.query ?? 0) >= shape.queries || (each.key ?? 0) >= shape.keys)) return false;
  if ((each.step ?? 0) >= Math.max(1, trace.steps.length) || (each.word ?? 0) >= Math.max(1, (trace.words.source ?? []).length)) return false;
  return typesFor(trace).includes(each.type);
}

/** A change as it begins, near what is selected. @param {any} trace @param {any} now @param {string} type */
function startOf(trace, now, type) {
  const kinds = kindsOf(trace);
  const kind = kinds.includes(now.kind) ? now.kind : kinds[0];
  const head = { kind, layer: now.layer, head: now.head };
  /** @type {Record<string, any>} */
  const starts = {
    mute: head,
    keep: head,
    uniform: head,
    edge: { ...head, query: now.query, key: now.key, weight: 0 },
    block: { ...head, layer: null, head: null, query: now.query, key: now.key },
    scale: { kind, layer: null, head: null, divisor: 1 },
    positions: { side: trace.kinds.includes("enc") ? "source" : "target", op: "drop" },
    feed_forward: { stack: trace.kinds.includes("dec") ? "dec" : "enc", layer: 0 },
    swap: { word: Math.min(1, (trace.words.source ?? []).length - 1), text: "" },
    force: { step: Math.min(now.step, trace.steps.length - 1), text: "" },
    causal: { value: false },
  };
  return { type, ...starts[type] };
}

/** @param {any} trace @param {any} each */
export function describe(trace, each) {
  const place = each.kind ? `${KIND_SHORT[each.kind]}, layer ${each.layer ?? "all"}, head ${each.head ?? "all"}` : "";
  const sides = each.kind ? tokensOf(trace, each.kind) : null;
  const name = (/** @type {any[]} */ tokens, /** @type {number | null} */ i) => (i === null ? "all" : visible(tokens[i] ? pieceOf(tokens[i]) : String(i)));
  switch (each.type) {
    case "mute": return `mute ${place}`;
    case "keep": return `keep only ${place}`;
    case "uniform": return `even weights in ${place}`;
    case "edge": return `weight ${name(sides?.rows ?? [], each.query)} → ${name(sides?.columns ?? [], each.key)} = ${num3(each.weight)} in ${place}`;
    case "block": return `no look ${name(sides?.rows ?? [], each.query)} → ${name(sides?.columns ?? [], each.key)} in ${place}`;
    case "scale": return `divide by ${num3(each.divisor)} in ${place}`;
    case "positions": return each.op === "drop" ? `no positions (${each.side ?? "both"})` : `positions ${each.by} later (${each.side ?? "both"})`;
    case "feed_forward": return `no feed-forward: ${each.stack === "enc" ? "encoder" : "decoder"}, layer ${each.layer ?? "all"}`;
    case "swap": return `“${trace.words.source?.[each.word] ?? each.word}” becomes “${each.text}”`;
    case "force": return `step ${each.step}: “${each.text ?? each.token}”`;
    default: return "the decoder sees ahead";
  }
}

/** Changes worth a first look, as far as this model has them. @param {any} trace */
export function ideas(trace) {
  const kind = kindsOf(trace).slice(-1)[0];
  const types = typesFor(trace);
  const words = trace.words.source ?? [];
  /** @type {any[]} */
  const list = [{ type: "uniform", kind, layer: trace.shapes[kind].layers - 1, head: null }];
  if (types.includes("positions")) list.push({ type: "positions", side: null, op: "drop" });
  if (types.includes("swap") && words.length > 1) list.push({ type: "swap", word: 1, text: words[1] === "dog" ? "cat" : "dog" });
  list.push({ type: "feed_forward", stack: trace.kinds.includes("dec") ? "dec" : "enc", layer: 0 });
  return list;
}

/** What the form was last set to: it stays while one looks elsewhere. */
const kept = { type: "mute" };

/** The form for one change. @param {any} ctx @param {(change: any) => void} onadd */
export function changeForm(ctx, onadd) {
  const trace = ctx.trace;
  const kinds = kindsOf(trace);
  const types = typesFor(trace);
  const now = ctx.store.get();
  const element = h("div", { class: "what-form" });
  /** @type {any} */
  let draft = {};

  /** @param {string} type @param {any} [patch] */
  function begin(type, patch) {
    kept.type = type;
    draft = { ...startOf(trace, now, type), ...patch };
    show();
  }

  function show() {
    renew(
      element,
      h("div", { class: "levers" }, select({ label: "what", options: types.map((type) => [type, TYPES[type]]), value: draft.type, onchange: (type) => begin(type) }), fields(), button("Add", add, { class: "add" })),
    );
  }

  /** @param {any} patch */
  function change(patch) {
    Object.assign(draft, patch);
    show();
  }

  function fields() {
    const has = (/** @type {string} */ name) => name in draft;
    const shape = has("kind") ? trace.shapes[draft.kind] : null;
    const sides = has("kind") ? tokensOf(trace, draft.kind) : null;
    const places = (/** @type {any[]} */ tokens) => tokens.slice(0, 512).map((each, i) => /** @type {[number, string]} */ ([i, `${i} ${visible(pieceOf(each))}`]));
    const orNull = (/** @type {string} */ value) => (value === "all" ? null : Number(value));
    const layers = (/** @type {number} */ n) => [...Array(n).keys()].map((i) => /** @type {[any, string]} */ ([i, String(i)]));
    return [
      has("kind") && kinds.length > 1 && select({ label: "in", options: kinds.map((kind) => [kind, KIND_SHORT[kind]]), value: draft.kind, onchange: (kind) => change({ kind, layer: draft.layer === null ? null : 0, head: draft.head === null ? null : 0, ...(has("query") ? { query: 0, key: 0 } : {}) }) }),
      shape && select({ label: "layer", options: [["all", "all"], ...layers(shape.layers)], value: draft.layer ?? "all", onchange: (value) => change({ layer: orNull(value) }) }),
      shape && select({ label: "head", options: [["all", "all"], ...layers(shape.heads)], value: draft.head ?? "all", onchange: (value) => change({ head: orNull(value) }) }),
      sides && has("query") && select({ label: "query", options: [...(draft.type === "block" ? [/** @type {[any, string]} */ (["all", "all"])] : []), ...places(sides.rows)], value: draft.query ?? "all", onchange: (value) => change({ query: orNull(value) }) }),
      sides && has("key") && select({ label: "key", options: places(sides.columns), value: draft.key, onchange: (value) => change({ key: Number(value) }) }),
      has("weight") && number("weight", draft.weight, { min: 0, max: 1, step: 0.05 }, (weight) => (draft.weight = weight)),
      has("divisor") && number("divide by", draft.divisor, { min: 0.01, step: 0.5 }, (divisor) => (draft.divisor = divisor)),
      has("side") && trace.kinds.includes("cross") && select({ label: "of", options: [["both", "both"], ["source", "source"], ["target", "target"]], value: draft.side ?? "both", onchange: (side) => change({ side: side === "both" ? null : side }) }),
      has("op") && select({ label: "how", options: [["drop", "drop"], ["shift", "shift"]], value: draft.op, onchange: (op) => { delete draft.by; change(op === "shift" ? { op, by: 1 } : { op }); } }),
      has("by") && number("by", draft.by, { step: 1 }, (by) => (draft.by = Math.round(by))),
      has("stack") && trace.kinds.includes("cross") && select({ label: "of the", options: [["enc", "encoder"], ["dec", "decoder"]], value: draft.stack, onchange: (stack) => change({ stack, layer: 0 }) }),
      has("stack") && select({ label: "layer", options: [["all", "all"], ...layers(trace.shapes[draft.stack].layers)], value: draft.layer ?? "all", onchange: (value) => change({ layer: orNull(value) }) }),
      has("word") && select({ label: "word", options: trace.words.source.map((/** @type {string} */ word, /** @type {number} */ i) => [i, `${i} ${word}`]), value: draft.word, onchange: (word) => change({ word: Number(word) }) }),
      has("step") && select({ label: "step", options: trace.steps.map((/** @type {any} */ step, /** @type {number} */ i) => [i, `${i} ${visible(step.chosen?.piece ?? "")}`]), value: draft.step, onchange: (step) => change({ step: Number(step) }) }),
      has("text") && text(),
    ];
  }

  function text() {
    const box = h("input", { type: "text", value: draft.text, placeholder: "new text", on: { input: () => (draft.text = box.value), keydown: (/** @type {KeyboardEvent} */ event) => event.key === "Enter" && add() } });
    return h("label", { class: "field" }, h("span", null, "becomes"), box);
  }

  function add() {
    if ("text" in draft && !draft.text.trim()) {
      ctx.announce("write the new text first");
      element.querySelector("input[type=text]")?.focus();
    } else onadd({ ...draft });
  }

  begin(types.includes(kept.type) ? kept.type : types[0]);
  return { element, begin };
}

/** @param {string} label @param {number} value @param {any} limits @param {(x: number) => void} oninput */
function number(label, value, limits, oninput) {
  const box = h("input", { type: "number", value, ...limits, on: { input: () => Number.isFinite(box.valueAsNumber) && oninput(box.valueAsNumber) } });
  return h("label", { class: "field" }, h("span", null, label), box);
}
