/**
 * What the parts of the page promise each other, for editors and the type checker; nothing runs here.
 * @module
 */

/**
 * @typedef {object} TableOf what `t` shows instead of a picture, and what the CSV holds
 * @property {string} caption
 * @property {{label: string, numeric?: boolean}[]} columns
 * @property {number} count
 * @property {(i: number) => (string | number | null)[]} row
 */

/**
 * @typedef {object} Mounted
 * @property {(now: any, before: any) => void} [update]
 * @property {() => TableOf | null} [table]
 * @property {(event: KeyboardEvent) => boolean} [key]
 * @property {() => HTMLCanvasElement | SVGElement | null} [picture]
 * @property {() => string} [python]
 * @property {() => void} [destroy]
 */

/**
 * @typedef {object} View
 * @property {string} id
 * @property {string} title
 * @property {string} about
 * @property {string[]} families
 * @property {boolean} [live] needs a server
 * @property {boolean} [needsTrace] true unless told
 * @property {(stage: HTMLElement, ctx: any) => Mounted | void | Promise<Mounted | void>} mount
 */

/** Kinds of attention in the order of the paper's Figure 1. */
export const KINDS = Object.freeze(["enc", "dec", "cross"]);

/** @type {Readonly<Record<string, string>>} */
export const KIND_NAMES = Object.freeze({
  enc: "Encoder self-attention",
  dec: "Decoder self-attention",
  cross: "Cross-attention",
});

/** @type {Readonly<Record<string, string>>} */
export const KIND_SHORT = Object.freeze({ enc: "encoder", dec: "decoder", cross: "cross" });
