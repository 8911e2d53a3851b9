/** The one selection that drives everything, kept in the URL hash; and the few settings a reader keeps. */

/**
 * @typedef {object} Selection
 * @property {string | null} run which model
 * @property {string | null} checkpoint which of its checkpoints; null: the one the model directory gives
 * @property {string | null} trace
 * @property {number} hypothesis
 * @property {string} kind enc, dec or cross
 * @property {number} layer
 * @property {number} head
 * @property {number} query
 * @property {number} key
 * @property {number} step decoding step
 * @property {string | null} compare a second trace
 * @property {string} view
 * @property {string} level tour, explore or expert
 * @property {number} stop of the tour
 * @property {string} scale of weights: linear, sqrt or log
 * @property {string | null} text the sentence, so that a link can be run again
 */

/** @type {Readonly<Selection>} */
const START = Object.freeze({
  run: null,
  checkpoint: null,
  trace: null,
  hypothesis: 0,
  kind: "cross",
  layer: 0,
  head: 0,
  query: 0,
  key: 0,
  step: 0,
  compare: null,
  view: "translate",
  level: "explore",
  stop: 0,
  scale: "sqrt",
  text: null,
});

/** @param {string} hash @returns {Readonly<Selection>} */
export function parseHash(hash) {
  /** @type {Record<string, any>} */
  const found = { ...START };
  for (const [name, value] of new URLSearchParams(hash.replace(/^#/, ""))) {
    if (!(name in START)) continue;
    const standard = /** @type {Record<string, any>} */ (START)[name];
    if (typeof standard === "number") {
      const number = Number(value);
      if (Number.isInteger(number) && number >= 0) found[name] = number;
    } else found[name] = value;
  }
  return Object.freeze(/** @type {Selection} */ (found));
}

/** @param {Readonly<Selection>} selection */
export function formatHash(selection) {
  const parts = new URLSearchParams();
  for (const [name, value] of Object.entries(selection)) {
    if (value !== null && value !== /** @type {Record<string, any>} */ (START)[name]) parts.set(name, String(value));
  }
  const text = parts.toString();
  return text ? `#${text}` : "#";
}

/** @typedef {(now: Readonly<Selection>, before: Readonly<Selection>) => void} Listener */

export class Store {
  /** @type {Readonly<Selection>} */ #now;
  /** @type {Set<Listener>} */ #listeners = new Set();

  constructor() {
    this.#now = parseHash(location.hash);
    window.addEventListener("hashchange", () => this.#become(parseHash(location.hash)));
  }

  get() {
    return this.#now;
  }

  /**
   * @param {Partial<Selection>} patch
   * @param {{replace?: boolean}} [options] replace: no entry in the history
   */
  set(patch, { replace = false } = {}) {
    const next = Object.freeze({ ...this.#now, ...patch });
    const hash = formatHash(next);
    if (hash !== formatHash(this.#now)) {
      try {
        if (replace) history.replaceState(null, "", hash);
        else history.pushState(null, "", hash);
      } catch {
        // A sandboxed frame has no history of its own: the selection then lives in memory.
      }
    }
    this.#become(next);
  }

  /** @param {Listener} listener @param {AbortSignal} [signal] */
  subscribe(listener, signal) {
    this.#listeners.add(listener);
    signal?.addEventListener("abort", () => this.#listeners.delete(listener));
    return () => this.#listeners.delete(listener);
  }

  /** @param {Readonly<Selection>} next */
  #become(next) {
    const before = this.#now;
    if (formatHash(before) === formatHash(next)) return;
    this.#now = next;
    for (const listener of [...this.#listeners]) listener(next, before);
  }
}

/** A setting that outlives the page, where the browser allows it. @param {string} name @param {string} standard */
export function remembered(name, standard) {
  try {
    return localStorage.getItem(`glassformer.${name}`) ?? standard;
  } catch {
    return standard;
  }
}

/** @param {string} name @param {string} value */
export function remember(name, value) {
  try {
    localStorage.setItem(`glassformer.${name}`, value);
  } catch {
    // Forgotten at the end of the visit.
  }
}

/** Access token of a server that asks for one: it comes in the hash and does not stay there. @returns {string | null} */
export function takeToken() {
  const parts = new URLSearchParams(location.hash.replace(/^#/, ""));
  const token = parts.get("token");
  if (token === null) return null;
  parts.delete("token");
  try {
    history.replaceState(null, "", `#${parts.toString()}`);
  } catch {
    location.hash = parts.toString();
  }
  return token;
}
