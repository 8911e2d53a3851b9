/** The only module that makes elements: text goes in as text, never as markup. */

const SVG = "http://www.w3.org/2000/svg";
const MATH = "http://www.w3.org/1998/Math/MathML";

/**
 * @typedef {Node | string | number | null | undefined | false | readonly any[]} Child nested lists are flattened
 * @typedef {Record<string, any>} Props
 */

/** @param {Element} element @param {Props} props */
function apply(element, props) {
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null) continue;
    if (name === "class") element.setAttribute("class", [value].flat().filter(Boolean).join(" "));
    else if (name === "on") {
      for (const [type, listener] of Object.entries(value)) {
        element.addEventListener(type, /** @type {EventListener} */ (listener), { signal: props.signal });
      }
    } else if (name === "signal") continue;
    else if (name === "style") {
      for (const [key, setting] of Object.entries(value)) {
        if (setting !== null && setting !== undefined) {
          /** @type {HTMLElement} */ (element).style.setProperty(key, String(setting));
        }
      }
    } else if (name === "data") {
      for (const [key, setting] of Object.entries(value)) {
        /** @type {HTMLElement} */ (element).dataset[key] = String(setting);
      }
    } else if (name === "aria") {
      for (const [key, setting] of Object.entries(value)) {
        if (setting !== null && setting !== undefined) element.setAttribute(`aria-${key}`, String(setting));
      }
    } else if (name in element && element.namespaceURI !== SVG && element.namespaceURI !== MATH && name !== "list") {
      /** @type {any} */ (element)[name] = value;
    } else if (value !== false) element.setAttribute(name, value === true ? "" : String(value));
  }
}

/** @param {Node} parent @param {Child[]} children */
function append(parent, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(parent, child);
    else parent.appendChild(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/**
 * An HTML element.
 * @param {string} tag @param {Props | null} [props] @param {...Child} children
 * @returns {any}
 */
export function h(tag, props, ...children) {
  const element = document.createElement(tag);
  append(element, children); // before the properties: the value of a <select> needs its options
  if (props) apply(element, props);
  return element;
}

/** @param {string} tag @param {Props | null} [props] @param {...Child} children @returns {any} */
export function svg(tag, props, ...children) {
  const element = document.createElementNS(SVG, tag);
  if (props) apply(element, props);
  append(element, children);
  return element;
}

/** @param {string} tag @param {Props | null} [props] @param {...Child} children @returns {any} */
export function math(tag, props, ...children) {
  const element = document.createElementNS(MATH, tag);
  if (props) apply(element, props);
  append(element, children);
  return element;
}

/** @param {string} text */
export const mi = (text) => math("mi", null, text);
/** @param {string} text */
export const mo = (text) => math("mo", { stretchy: "false" }, text);
/** @param {string | number} value */
export const mn = (value) => math("mn", null, typeof value === "number" ? num3(value) : value);
/** @param {string} text */
export const mtext = (text) => math("mtext", null, text);
/** @param {...Child} parts */
export const row = (...parts) => math("mrow", null, ...parts);
/** @param {Child} base @param {Child} index */
export const sub = (base, index) => math("msub", null, base, index);
/** @param {Child} base @param {Child} power */
export const sup = (base, power) => math("msup", null, base, power);
/** @param {Child} above @param {Child} below */
export const frac = (above, below) => math("mfrac", null, above, below);
/** @param {Child} inside */
export const root = (inside) => math("msqrt", null, inside);
/** @param {...Child} parts */
export const formula = (...parts) => math("math", { display: "block" }, row(...parts));

/** The element of the page with this id. @param {string} id @returns {any} */
export const place = (id) => document.getElementById(id);

/** @param {Node} node */
export function clear(node) {
  while (node.firstChild) node.removeChild(node.firstChild);
}

/** @param {Node} node @param {...Child} children */
export function replace(node, ...children) {
  clear(node);
  append(node, children);
}

/** Text whose direction must not disturb what stands around it. @param {string} text */
export const bdi = (text) => h("bdi", null, text);

const CONTROL = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;

/** A piece with its spaces and invisible characters made visible. @param {string} text */
export function visible(text) {
  return text
    .replace(/[\u0020\u00a0]/g, "␣")
    .replace(/\n/g, "⏎")
    .replace(/\t/g, "⇥")
    .replace(CONTROL, (c) => `‹${/** @type {number} */ (c.codePointAt(0)).toString(16).toUpperCase().padStart(4, "0")}›`);
}

/** Three significant digits. @param {number | null | undefined} x @returns {string} */
export function num3(x) {
  if (x === null || x === undefined || Number.isNaN(x)) return "–";
  if (x === 0) return "0";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  const size = Math.abs(x);
  let text;
  if (size >= 1e6 || size < 1e-4) {
    const [mantissa, power] = x.toExponential(2).split("e");
    const digits = String(Number(power)).replace("-", "⁻").replace(/\d/g, (d) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(d)]);
    text = `${mantissa}·10${digits}`;
  } else if (Number.isInteger(x)) text = String(x);
  else text = size >= 1000 ? x.toFixed(0) : x.toPrecision(3);
  return text.replace("-", "−");
}

/** A number with three significant digits, the whole one on hover. @param {number | null | undefined} x */
export function num(x) {
  return h("span", { class: "num", title: x === null || x === undefined ? "" : String(x) }, num3(x));
}

/** @param {number} x */
export const percent = (x) => `${num3(100 * x)}\u00a0%`;

/** @param {number} bytes */
export function size(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1e6 ? `${num3(bytes / 1e3)} kB` : `${num3(bytes / 1e6)} MB`;
}

/** How a token is written in a margin: its piece, without the mark of a word's beginning. @param {any} tok */
export function nameOf(tok) {
  const piece = tok.piece ?? tok.text ?? "";
  return piece.length > 1 && piece.startsWith("▁") ? piece.slice(1) : piece;
}

/**
 * One token as a chip; the mark of a word's beginning is faint.
 * @param {any} tok as the API gives it
 * @param {Props & {as?: string, index?: number}} [options]
 */
export function token(tok, options = {}) {
  const { as = "span", index, class: extra, ...props } = options;
  const piece = tok.piece ?? tok.text ?? "";
  const begins = piece.length > 1 && piece.startsWith("▁");
  return h(
    as,
    { title: `${piece}${tok.id === undefined ? "" : ` · id ${tok.id}`}`, ...props, class: ["token", tok.special && "special", extra] },
    begins && h("span", { class: "token-mark", aria: { hidden: "true" } }, "▁"),
    h("bdi", null, visible(begins ? piece.slice(1) : piece) || "∅"),
    index !== undefined && h("sub", { class: "token-index" }, String(index)),
  );
}
