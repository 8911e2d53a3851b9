/**
 * Temperature, top-k, top-p and min-p over a whole vocabulary, in the order and with the meaning of decoding.
 * @module
 */

/** @typedef {import("./softmax.js").Numbers} Numbers */
/**
 * What is cut away before a token is drawn. 0 means greedy (temperature) or no cut (topK, minP); topP 1 none.
 * @typedef {{temperature: number, topK: number, topP: number, minP: number}} Cut
 */
/**
 * A row of logits with its tokens ranked once: no cut and no temperature changes the order.
 * @typedef {object} Ranked
 * @property {Numbers} logits by id
 * @property {Uint32Array} order ids, best first; of equal ones the lower id
 * @property {Uint32Array} rank by id, 0 is the best
 */
/**
 * The distribution that tokens are drawn from. Whatever is kept is a beginning of the ranked order.
 * @typedef {object} Distribution
 * @property {Ranked} row
 * @property {Float64Array} tempered probabilities at the temperature before any cut, best first
 * @property {number} kept how many tokens can be drawn
 * @property {number} mass what the kept tokens have together before they are scaled to 1
 * @property {{topK: number, topP: number, minP: number}} left tokens that are left after each cut
 */

/** @type {Readonly<Cut>} */
export const NO_CUT = Object.freeze({ temperature: 1, topK: 0, topP: 1, minP: 0 });

/**
 * Sort a row once.
 * @param {Numbers} logits
 * @returns {Ranked}
 */
export function rankRow(logits) {
  const order = new Uint32Array(logits.length);
  for (let id = 0; id < order.length; id++) order[id] = id;
  order.sort((a, b) => logits[b] - logits[a] || a - b);
  const rank = new Uint32Array(order.length);
  for (let place = 0; place < order.length; place++) rank[order[place]] = place;
  return { logits, order, rank };
}

/**
 * The distribution under a cut: temperature, then top-k, then top-p, then min-p.
 * @param {Ranked} row
 * @param {Cut} cut
 * @returns {Distribution}
 */
export function distribution(row, cut) {
  const { logits, order } = row;
  const size = order.length;
  const tempered = new Float64Array(size);
  if (cut.temperature === 0) {
    tempered[0] = 1;
    return { row, tempered, kept: Math.min(1, size), mass: 1, left: { topK: 1, topP: 1, minP: 1 } };
  }
  const top = size ? logits[order[0]] : 0;
  let total = 0;
  for (let place = 0; place < size; place++) {
    tempered[place] = Math.exp((logits[order[place]] - top) / cut.temperature);
    total += tempered[place];
  }
  const topK = cut.topK > 0 && cut.topK < size ? cut.topK : size;
  const topP = cut.topP < 1 ? nucleus(tempered, topK, cut.topP) : topK;
  let minP = topP;
  while (minP > 1 && tempered[minP - 1] < cut.minP) minP--;
  let mass = 0;
  for (let place = 0; place < size; place++) {
    tempered[place] /= total;
    if (place < minP) mass += tempered[place];
  }
  return { row, tempered, kept: minP, mass, left: { topK, topP, minP } };
}

/**
 * The smallest number of best tokens, of the first `size`, that have a share of at least p.
 * @param {Float64Array} weights any multiple of probabilities, best first
 * @param {number} size
 * @param {number} p
 * @returns {number}
 */
function nucleus(weights, size, p) {
  let total = 0;
  for (let place = 0; place < size; place++) total += weights[place];
  let before = 0;
  for (let place = 0; place < size; place++) {
    if (before / total >= p) return place;
    before += weights[place];
  }
  return size;
}

/**
 * The probability that a token is drawn, 0 if it was cut.
 * @param {Distribution} d
 * @param {number} id
 * @returns {number}
 */
export function probability(d, id) {
  const place = d.row.rank[id];
  return place < d.kept ? d.tempered[place] / d.mass : 0;
}

/**
 * The probabilities of all tokens by id.
 * @param {Distribution} d
 * @returns {Float64Array}
 */
export function probabilities(d) {
  const out = new Float64Array(d.tempered.length);
  for (let place = 0; place < d.kept; place++) out[d.row.order[place]] = d.tempered[place] / d.mass;
  return out;
}

/**
 * For each number from 0 to 1, the token it falls on when probabilities are laid end to end by id.
 * @param {Distribution} d
 * @param {number[]} numbers
 * @returns {number[]}
 */
export function draw(d, numbers) {
  const edges = probabilities(d);
  let last = 0;
  for (let id = 0; id < edges.length; id++) if (edges[id] > 0) last = id;
  for (let id = 1; id < edges.length; id++) edges[id] += edges[id - 1];
  const total = edges[edges.length - 1];
  return numbers.map((number) => Math.min(firstAbove(edges, number * total), last));
}

/**
 * @param {Float64Array} edges rising
 * @param {number} x
 * @returns {number} the first place whose edge is above x
 */
function firstAbove(edges, x) {
  let low = 0;
  let high = edges.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (edges[middle] > x) high = middle;
    else low = middle + 1;
  }
  return low;
}
