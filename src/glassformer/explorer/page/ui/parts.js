/**
 * Small parts that several views share: cards, figures in a row, bars, the choice of a head.
 * @module
 */

import { bdi, h, num, replace } from "../dom.js";
import { segmented, select } from "./controls.js";
import { KINDS, KIND_SHORT } from "./types.js";

/**
 * A box with a heading.
 * @param {string} title
 * @param {...import("../dom.js").Child} children
 */
export function card(title, ...children) {
  return h("section", { class: "card", aria: { label: title } }, h("h3", null, title), ...children);
}

/**
 * Figures side by side, each with its name.
 * @param {[string, number | string | null, string?][]} pairs name, value, what it means
 */
export function figures(pairs) {
  return h(
    "dl",
    { class: "figures" },
    pairs.map(([name, value, meaning]) =>
      h("div", { title: meaning }, h("dt", null, name), h("dd", null, typeof value === "number" ? num(value) : bdi(value ?? "–"))),
    ),
  );
}

/**
 * A bar from 0 to 1, with its text; `set` moves it without making anything new.
 * @param {string} [kind] enc, dec or cross: its hue
 */
export function bar(kind) {
  const fill = h("i", { class: kind && `kind-${kind}` });
  const text = h("span", { class: "num" });
  const element = h("span", { class: "bar" }, fill, text);
  /** @param {number} share @param {string} said @param {string} [full] */
  const set = (share, said, full) => {
    fill.style.setProperty("--share", String(Math.max(0, Math.min(1, Number.isFinite(share) ? share : 0))));
    replace(text, said);
    if (full !== undefined) element.title = full;
  };
  return { element, set };
}

/** Which tokens stand in the rows and columns of a kind of attention. @param {any} trace @param {string} kind */
export function tokensOf(trace, kind) {
  const query = kind === "enc" ? "source" : "target";
  const key = kind === "dec" ? "target" : "source";
  return { rows: trace.tokens[query] ?? [], columns: trace.tokens[key] ?? [] };
}

/** What a token is called: its piece, or the special's name. @param {any} token */
export const pieceOf = (token) => token.piece || token.text || "";

/** A sentence about something that cannot be shown. @param {string} text */
export const nothing = (text) => h("p", { class: "empty" }, text);

/** What is shown while data is on its way. @param {string} text */
export const loading = (text) => h("p", { class: "loading", role: "status" }, text);

/**
 * Kind, layer and head, as far as the model has them.
 * @param {Record<string, {layers: number, heads: number}>} shapes
 * @param {{kind: string, layer: number, head: number}} now
 * @param {(patch: {kind?: string, layer?: number, head?: number}) => void} onchange
 */
export function headChoice(shapes, now, onchange) {
  const kinds = KINDS.filter((kind) => shapes[kind]);
  const kind = shapes[now.kind] ? now.kind : kinds[0];
  const { layers, heads } = shapes[kind];
  /** @param {number} n @returns {[number, string][]} */
  const counted = (n) => Array.from({ length: n }, (_, i) => [i, String(i)]);
  return h(
    "div",
    { class: ["controls", `kind-${kind}`] },
    kinds.length > 1 &&
      segmented({ label: "attention", hideLabel: true, options: kinds.map((each) => [each, KIND_SHORT[each]]), value: kind, onchange: (value) => onchange({ kind: value, layer: 0, head: 0 }) }),
    select({ label: "layer", options: counted(layers), value: Math.min(now.layer, layers - 1), onchange: (value) => onchange({ layer: Number(value) }) }),
    select({ label: "head", options: counted(heads), value: Math.min(now.head, heads - 1), onchange: (value) => onchange({ head: Number(value) }) }),
  );
}

/** The chosen head, brought inside what there is. @param {Record<string, {layers: number, heads: number}>} shapes @param {{kind: string, layer: number, head: number}} now */
export function headIn(shapes, now) {
  const kind = shapes[now.kind] ? now.kind : KINDS.filter((each) => shapes[each])[0];
  const { layers, heads } = shapes[kind];
  return { kind, layer: Math.min(now.layer, layers - 1), head: Math.min(now.head, heads - 1) };
}

/** Python that makes the trace on the stage. @param {any} ctx */
export function pythonOfTrace(ctx) {
  const request = ctx.trace?.request ?? {};
  const target = request.target ? `, target=${pythonText(request.target)}` : "";
  const changes = request.interventions?.length ? `, interventions=${pythonOf(request.interventions)}` : "";
  return [
    "from glassformer import load",
    "",
    `model = load(${pythonText(ctx.trace?.run ?? "")})`,
    `trace = model.explain(${pythonText(request.source ?? "")}${target}${changes})`,
  ].join("\n");
}

/** A string as Python writes it. @param {string} text */
export const pythonText = (text) => JSON.stringify(text);

/** Plain data as Python writes it. @param {any} value @returns {string} */
export function pythonOf(value) {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(pythonOf).join(", ")}]`;
  if (typeof value === "object") return `{${Object.entries(value).map(([name, each]) => `${pythonText(name)}: ${pythonOf(each)}`).join(", ")}}`;
  return JSON.stringify(value);
}
