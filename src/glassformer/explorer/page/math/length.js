/**
 * The length penalty of beam search (equation 14 of Wu et al. 2016), and hypotheses ranked by it.
 * @module
 */

/**
 * The divisor of a hypothesis' log-probability; its length counts the end token.
 * @param {number} length
 * @param {number} alpha
 * @param {boolean} [average] divide by length^alpha instead of ((5 + length) / 6)^alpha
 * @returns {number}
 */
export function lengthPenalty(length, alpha, average = false) {
  return (average ? length : (5 + length) / 6) ** alpha;
}

/**
 * The score by which hypotheses are compared.
 * @param {number} logProbability
 * @param {number} length
 * @param {number} alpha
 * @param {boolean} [average]
 * @returns {number}
 */
export function score(logProbability, length, alpha, average = false) {
  return logProbability / lengthPenalty(Math.max(length, 1), alpha, average);
}

/**
 * Hypotheses best first; equal ones keep their order.
 * @template {{logp: number, length: number}} T
 * @param {T[]} hypotheses
 * @param {number} alpha
 * @param {boolean} [average]
 * @returns {(T & {score: number})[]}
 */
export function rerank(hypotheses, alpha, average = false) {
  return hypotheses
    .map((each) => ({ ...each, score: score(each.logp, each.length, alpha, average) }))
    .sort((a, b) => b.score - a.score);
}
