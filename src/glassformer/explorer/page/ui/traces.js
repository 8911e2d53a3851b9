/**
 * Questions that every part asks about a trace: which tokens are queries and keys, and where a selection still fits.
 * @module
 */

/** @param {any} trace meta @param {string} kind @returns {any[]} tokens */
export function queriesOf(trace, kind) {
  return (kind === "enc" ? trace.tokens.source : trace.tokens.target) ?? [];
}

/** @param {any} trace meta @param {string} kind @returns {any[]} tokens */
export function keysOf(trace, kind) {
  return (kind === "dec" ? trace.tokens.target : trace.tokens.source) ?? [];
}

/** @param {{kind: string, layer: number, head: number}} selection */
export function headName({ kind, layer, head }) {
  return `${kind}.${layer}.${head}`;
}

/**
 * The nearest selection that exists in a trace.
 * @param {any} selection @param {any} trace
 */
export function fitted(selection, trace) {
  const kinds = trace.kinds;
  const kind = kinds.includes(selection.kind) ? selection.kind : kinds[kinds.length - 1];
  const shape = trace.shapes[kind];
  const clamp = (/** @type {number} */ x, /** @type {number} */ count) => Math.max(0, Math.min(x, count - 1));
  return {
    kind,
    layer: clamp(selection.layer, shape.layers),
    head: clamp(selection.head, shape.heads),
    query: clamp(selection.query, shape.queries),
    key: clamp(selection.key, shape.keys),
    step: clamp(selection.step, Math.max(1, trace.steps.length)),
  };
}

/** The first step that was the model's own choice. @param {any} trace */
export function firstStep(trace) {
  return Math.max(0, trace.steps.findIndex((/** @type {any} */ step) => !step.given));
}

/** Patch that goes to a decoding step; in the decoder the query goes along. @param {any} selection @param {number} step @param {any} trace */
export function atStep(selection, step, trace) {
  const at = trace.steps[step];
  if (at?.position !== undefined) return { step, query: selection.kind === "enc" ? at.position : selection.query };
  return selection.kind === "enc" ? { step } : { step, query: Math.min(step, trace.shapes[selection.kind].queries - 1) };
}

/** How sure the model was, 0 … 1, for tinting. @param {any} step of meta.steps */
export function confidence(step) {
  return step?.chosen ? Math.exp(step.chosen.logp) : 0;
}
