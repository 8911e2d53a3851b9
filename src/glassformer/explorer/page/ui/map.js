/**
 * The paper's Figure 1 as the configuration says it: each part leads to its view.
 * @module
 */

import { h, num3, replace, svg } from "../dom.js";
import { renew } from "./controls.js";
import { KIND_NAMES } from "./types.js";

const BOX = 22;
const GAP = 9;
const WIDTH = 108;

/**
 * @typedef {object} Piece one thing in a column, from the bottom up
 * @property {"box" | "add" | "wire"} shape
 * @property {string} [text]
 * @property {string} [name] for screen readers
 * @property {string} [kind]
 * @property {any} [to] patch of the selection
 * @property {string} [part] what it is, to mark the current one
 * @property {boolean} [starts] a residual connection leaves below this piece
 * @property {boolean} [ends] and arrives here
 * @property {boolean} [memory] the encoder's output arrives here
 * @property {boolean} [position] positions are added here
 * @property {boolean} [slim] a lower box
 */

const POSITIONS = /** @type {Record<string, string>} */ ({
  sinusoidal: "sinusoidal positions",
  learned: "learned positions",
  rotary: "rotary positions",
  alibi: "ALiBi positions",
  relative: "relative positions",
  none: "no positions",
});

/** @param {any} a architecture @param {any} piece a sub-layer's box @returns {Piece[]} */
function sublayer(a, piece) {
  const norm = a.norm_kind === "rms" ? "RMSNorm" : "Norm";
  const box = { shape: "box", ...piece };
  const normed = (/** @type {any} */ more) => ({ shape: "box", text: norm, name: `${norm} of a layer`, part: "layers", to: { view: "layers" }, slim: true, ...more });
  if (a.norm === "pre") return [normed({ starts: true }), box, { shape: "add", ends: true, part: "layers", to: { view: "layers" } }];
  if (a.norm === "sandwich") return [normed({ starts: true }), box, normed({}), { shape: "add", ends: true, part: "layers", to: { view: "layers" } }];
  return [{ ...box, starts: true }, { shape: "box", text: `Add & ${norm}`, name: `residual connection and ${norm}`, ends: true, part: "layers", to: { view: "layers" }, slim: true }];
}

/** @param {any} a @param {"enc" | "dec"} stack @returns {{below: Piece[], block: Piece[], above: Piece[]}} */
function column(a, stack) {
  const side = stack === "enc" ? "source" : "target";
  const attention = a.kinds.includes("cross") && stack === "dec" ? "Masked attention" : stack === "dec" ? "Masked attention" : "Attention";
  const block = sublayer(a, { text: attention, kind: stack, part: `attention-${stack}`, name: KIND_NAMES[stack], to: { view: "head", kind: stack } });
  if (stack === "dec" && a.kinds.includes("cross")) {
    block.push(...sublayer(a, { text: "Cross-attention", kind: "cross", part: "attention-cross", name: KIND_NAMES.cross, to: { view: "head", kind: "cross" }, memory: true }));
  }
  block.push(...sublayer(a, { text: a.gated ? "Gated feed-forward" : "Feed-forward", part: "layers", name: "feed-forward network", to: { view: "layers" } }));
  const added = a.positions === "sinusoidal" || a.positions === "learned";
  /** @type {Piece[]} */
  const below = [
    { shape: "box", text: a.stacks.length === 1 ? "Text" : side === "source" ? "Inputs" : "Outputs", part: "tokens", name: `tokens of the ${side}`, to: { view: "tokens" } },
    { shape: "box", text: "Embedding", part: "embedding", name: `embedding of the ${side}`, to: { view: "embedding" } },
    { shape: added ? "add" : "box", text: added ? "" : POSITIONS[a.positions], part: "embedding", name: POSITIONS[a.positions], to: { view: "embedding" }, position: added },
  ];
  if (a.embedding_norm) below.push({ shape: "box", text: "Norm", part: "embedding", name: "norm of the embedding", to: { view: "embedding" }, slim: true });
  /** @type {Piece[]} */
  const above = [];
  if (a.final_norm) above.push({ shape: "box", text: "Final norm", part: "layers", name: "final norm", to: { view: "layers" }, slim: true });
  const last = stack === "dec" || a.stacks.length === 1;
  if (last) {
    if (a.head === "classifier") above.push({ shape: "box", text: "Classifier", part: "next-token", name: "classifier", to: { view: "translate" } });
    else if (a.head === "embedding") above.push({ shape: "box", text: "Pooling", part: "next-token", name: "pooling", to: { view: "translate" } });
    else {
      above.push({ shape: "box", text: "Linear", part: "next-token", name: "output projection", to: { view: "next-token" } });
      above.push({ shape: "box", text: "Softmax", part: "next-token", name: "softmax over the vocabulary", to: { view: "next-token" } });
    }
    if (stack === "dec") above.push({ shape: "box", text: "Beam search", part: "beam", name: "beam search", to: { view: "beam" } });
  }
  return { below, block, above };
}

/** @param {Piece} piece */
const tall = (piece) => (piece.shape === "add" ? 16 : piece.slim ? 17 : BOX);

/** @param {any} a @param {"enc" | "dec"} stack @param {number} x centre @param {number} bottom @param {(patch: any) => void} go */
function drawColumn(a, stack, x, bottom, go) {
  const { below, block, above } = column(a, stack);
  /** @type {any[]} */
  const nodes = [];
  /** @type {any[]} */
  const wires = [];
  let y = bottom;
  let residual = 0;
  let memory = 0;
  const outward = stack === "enc" && a.stacks.length > 1 ? -1 : 1;
  const put = (/** @type {any} */ piece, /** @type {boolean} */ first) => {
    const high = tall(piece);
    if (!first) {
      wires.push(svg("path", { class: "wire", d: `M${x} ${y}v${-GAP}` }));
      y -= GAP;
    }
    if (piece.starts) residual = y + GAP / 2;
    const top = y - high;
    const middle = top + high / 2;
    const shape =
      piece.shape === "add"
        ? [svg("circle", { class: "box plus", cx: x, cy: middle, r: 8 }), svg("path", { class: "wire", d: `M${x - 4} ${middle}h8M${x} ${middle - 4}v8` })]
        : [
            svg("rect", { class: "box", x: x - WIDTH / 2, y: top, width: WIDTH, height: high, rx: 5 }),
            svg("text", { x, y: middle + 4, "text-anchor": "middle", class: piece.slim && "small" }, piece.text),
          ];
    if (piece.ends) {
      const rim = x + outward * (WIDTH / 2 + 9);
      const edge = piece.shape === "add" ? x + outward * 8 : x + outward * (WIDTH / 2);
      wires.push(svg("path", { class: "wire residual", d: `M${x} ${residual}H${rim}V${middle}H${edge}` }));
    }
    if (piece.position) {
      wires.push(svg("text", { class: "small", x: x + outward * 14, y: middle + 4, "text-anchor": outward > 0 ? "start" : "end" }, "+ position"));
    }
    if (piece.memory) memory = middle;
    nodes.push(
      svg(
        "g",
        {
          class: ["part", piece.kind && `kind-${piece.kind}`],
          tabindex: 0,
          role: "button",
          aria: { label: piece.name ?? piece.text },
          data: { part: piece.part },
          on: {
            click: () => go(piece.to),
            keydown: (/** @type {KeyboardEvent} */ event) => {
              if (event.key !== "Enter" && event.key !== " ") return;
              event.preventDefault();
              event.stopPropagation();
              go(piece.to);
            },
          },
        },
        shape,
      ),
    );
    y = top;
  };
  below.forEach((piece, i) => put(piece, i === 0));
  wires.push(svg("path", { class: "wire", d: `M${x} ${y}v${-GAP}` }));
  y -= GAP;
  const frameBottom = y + 3;
  block.forEach((piece) => put(piece, false));
  // Room for "6 ×" where the topmost box would cover it.
  const air = block[block.length - 1].shape === "add" ? 0 : 12;
  if (air) wires.push(svg("path", { class: "wire", d: `M${x} ${y}v${-air}` }));
  y -= air;
  const frameTop = y - (air ? 5 : 8);
  const frame = svg("rect", { class: "frame", x: x - WIDTH / 2 - 14, y: frameTop, width: WIDTH + 28, height: frameBottom - frameTop + 2, rx: 8 });
  const times = svg("text", { class: "small times", x: x - WIDTH / 2 - 9, y: frameTop + 13 }, `${a.layers[stack]} ×`);
  above.forEach((piece) => put(piece, false));
  return { nodes: [frame, times, ...wires, ...nodes], top: y, memory, x };
}

/** @param {any} a architecture @param {(patch: any) => void} go */
function figure(a, go) {
  const two = a.stacks.length > 1;
  const room = WIDTH + 36;
  const bottom = 0;
  const parts = a.stacks.map((/** @type {"enc" | "dec"} */ stack, /** @type {number} */ i) => drawColumn(a, stack, i * (room + 6), bottom, go));
  const top = Math.min(...parts.map((/** @type {any} */ part) => part.top)) - 6;
  const extra = [];
  if (two) {
    const [enc, dec] = parts;
    const turn = enc.top - 10;
    const between = (enc.x + dec.x) / 2 + 1;
    extra.push(svg("path", { class: "wire memory", d: `M${enc.x} ${enc.top}V${turn}H${between}V${dec.memory}H${dec.x - WIDTH / 2}` }));
    extra.push(svg("path", { class: "wire memory", d: `M${dec.x - WIDTH / 2 - 5} ${dec.memory - 3}l5 3l-5 3` }));
  }
  const left = -WIDTH / 2 - 18;
  const width = (parts.length - 1) * (room + 6) + WIDTH + 36;
  return svg(
    "svg",
    { viewBox: `${left} ${top} ${width} ${bottom - top + 4}`, role: "group", aria: { label: "the model, after Figure 1 of the paper" }, style: { "max-inline-size": parts.length > 1 ? "none" : "180px" } },
    parts.map((/** @type {any} */ part) => part.nodes),
    extra,
  );
}

/** @param {HTMLElement} panel @param {{go: (patch: any) => void}} how */
export function modelMap(panel, { go }) {
  const title = h("p", { class: "panel-title" }, "Map");
  const picture = h("div", { class: "map-picture" });
  const choice = h("div", { class: "map-choice" });
  const facts = h("dl", { class: "facts" });
  replace(panel, title, picture, choice, facts);
  /** @type {any} */
  let a = null;

  return {
    /** @param {any} model */
    draw(model) {
      a = model.architecture;
      replace(picture, figure(a, go));
      const named = /** @type {[string, any][]} */ ([
        ["parameters", model.parameters?.toLocaleString("en")],
        ["d_model", a.d_model],
        ["heads", a.key_heads !== a.heads ? `${a.heads} (${a.key_heads} key)` : a.heads],
        ["d_k", a.d_k],
        ["d_ff", a.d_ff],
        ["vocabulary", a.vocab_size?.toLocaleString("en")],
        ["norm", `${a.norm}, ${a.norm_kind}`],
        ["positions", a.positions],
        ["activation", a.gated ? `${a.activation}, gated` : a.activation],
        ["tying", a.tying],
      ]);
      replace(facts, named.filter(([, value]) => value !== undefined && value !== null).map(([name, value]) => [h("dt", null, name), h("dd", null, typeof value === "number" ? num3(value) : String(value))]));
    },
    /** @param {any} selection @param {any} trace */
    mark(selection, trace) {
      const attending = ["head", "atlas", "arithmetic", "masks"].includes(selection.view);
      for (const part of picture.querySelectorAll(".part")) {
        const on = attending ? part.dataset.part === `attention-${selection.kind}` : part.dataset.part === selection.view;
        if (on) part.setAttribute("aria-current", "true");
        else part.removeAttribute("aria-current");
      }
      const shape = trace?.shapes?.[selection.kind];
      renew(choice, shape && [chooser("Layer", shape.layers, selection.layer, (layer) => go({ layer }), selection.kind), chooser("Head", shape.heads, selection.head, (head) => go({ head }), selection.kind)]);
    },
  };
}

/** @param {string} label @param {number} count @param {number} value @param {(i: number) => void} pick @param {string} kind */
function chooser(label, count, value, pick, kind) {
  return h(
    "div",
    { class: ["chooser", `kind-${kind}`], role: "group", aria: { label } },
    h("span", { class: "note" }, label),
    Array.from({ length: count }, (_, i) =>
      h("button", { type: "button", aria: { pressed: String(i === value), label: `${label} ${i}` }, on: { click: () => pick(i) } }, String(i)),
    ),
  );
}
