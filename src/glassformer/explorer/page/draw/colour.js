/**
 * Colours: sequential and signed tables for each theme, hues of heads and of kinds of attention.
 * @module
 */

/** @typedef {"light" | "dark"} Theme */

/** Okabe & Ito's eight colours, told apart with any common colour vision; black is a grey that both themes show. */
const HEADS = ["#e69f00", "#56b4e9", "#009e73", "#cc79a7", "#0072b2", "#d55e00", "#8c8c8c", "#b8a800"];

/** From nothing to all: navy to yellow as in cividis, beginning at the paper of the theme. */
const SEQUENTIAL = {
  light: ["#fbfaf4", "#efe6b8", "#c9bd7f", "#94907a", "#616a7d", "#35487a", "#0a2250"],
  dark: ["#101623", "#1a2f5c", "#3f4d72", "#6b6f7b", "#9d9576", "#d3c15a", "#ffea46"],
};

/** From minus one through nothing to plus one: blue, paper, orange. */
const SIGNED = {
  light: ["#08408f", "#3f7fc4", "#a4c8e6", "#f7f7f4", "#f6c08c", "#dd7a26", "#8f3a00"],
  dark: ["#8fc7ff", "#4a90d9", "#234a78", "#141821", "#7a4214", "#d97b28", "#ffbd7a"],
};

/** @type {Map<string, Uint32Array>} */
const made = new Map();

/**
 * 256 colours from low to high, as 32-bit words of image data.
 * @param {Theme} theme
 * @returns {Uint32Array}
 */
export function sequential(theme) {
  return once(`sequential ${theme}`, SEQUENTIAL[theme]);
}

/**
 * 256 colours from -1 (blue) to 1 (orange); 0 is between 127 and 128.
 * @param {Theme} theme
 * @returns {Uint32Array}
 */
export function signed(theme) {
  return once(`signed ${theme}`, SIGNED[theme]);
}

/**
 * A colour of a table as CSS.
 * @param {Uint32Array} table
 * @param {number} t from 0 to 1
 * @returns {string}
 */
export function cssOf(table, t) {
  const [red, green, blue] = bytesOf(table[Math.round(Math.min(1, Math.max(0, t)) * 255)]);
  return `rgb(${red}, ${green}, ${blue})`;
}

/**
 * Black or white, whichever is easier to read on a colour of a table.
 * @param {Uint32Array} table
 * @param {number} t from 0 to 1
 * @returns {string}
 */
export function inkOn(table, t) {
  const [red, green, blue] = bytesOf(table[Math.round(Math.min(1, Math.max(0, t)) * 255)]).map(toLinear);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18 ? "#0b0e14" : "#ffffff";
}

/**
 * The style of a token tinted by its probability.
 * @param {Theme} theme
 * @param {number} p
 */
export function tint(theme, p) {
  const table = sequential(theme);
  const t = 0.06 + 0.86 * p;
  return { "--tint": cssOf(table, t), "--tint-text": inkOn(table, t) };
}

/**
 * The colour of a head, or of any item of a short list.
 * @param {number} i
 * @returns {string}
 */
export function headColour(i) {
  return HEADS[i % HEADS.length];
}

/**
 * A custom property as a colour that a canvas takes: `light-dark()` and `var()` resolved where the element stands.
 * @param {HTMLElement} element
 * @param {string} property
 * @returns {string}
 */
export function resolve(element, property) {
  const before = element.style.getPropertyValue("column-rule-color");
  element.style.setProperty("column-rule-color", `var(${property})`);
  const colour = getComputedStyle(element).columnRuleColor;
  if (before) element.style.setProperty("column-rule-color", before);
  else element.style.removeProperty("column-rule-color");
  return colour;
}

/**
 * @param {string} name
 * @param {string[]} anchors
 * @returns {Uint32Array}
 */
function once(name, anchors) {
  const known = made.get(name);
  if (known) return known;
  const table = tableOf(anchors);
  made.set(name, table);
  return table;
}

/**
 * Anchors at equal distances, mixed in OKLab so that steps look equal.
 * @param {string[]} anchors
 * @returns {Uint32Array}
 */
function tableOf(anchors) {
  const points = anchors.map((hex) => toLab(hexBytes(hex)));
  const table = new Uint32Array(256);
  const bytes = new Uint8ClampedArray(table.buffer);
  for (let i = 0; i < 256; i++) {
    const place = (i / 255) * (points.length - 1);
    const from = Math.min(Math.floor(place), points.length - 2);
    const share = place - from;
    const lab = points[from].map((x, axis) => x + share * (points[from + 1][axis] - x));
    bytes.set([...fromLab(lab), 255], 4 * i);
  }
  return table;
}

/**
 * @param {number} word
 * @returns {number[]} red, green, blue
 */
function bytesOf(word) {
  return Array.from(new Uint8Array(new Uint32Array([word]).buffer)).slice(0, 3);
}

/**
 * @param {string} hex
 * @returns {number[]}
 */
function hexBytes(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

/**
 * @param {number} byte
 * @returns {number}
 */
function toLinear(byte) {
  const x = byte / 255;
  return x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
}

/**
 * @param {number} x
 * @returns {number}
 */
function fromLinear(x) {
  const y = Math.min(1, Math.max(0, x));
  return 255 * (y <= 0.0031308 ? 12.92 * y : 1.055 * y ** (1 / 2.4) - 0.055);
}

/**
 * @param {number[]} rgb
 * @returns {number[]} OKLab (Ottosson 2020)
 */
function toLab(rgb) {
  const [r, g, b] = rgb.map(toLinear);
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

/**
 * @param {number[]} lab
 * @returns {number[]} red, green, blue
 */
function fromLab([lightness, a, b]) {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    fromLinear(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    fromLinear(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    fromLinear(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}
