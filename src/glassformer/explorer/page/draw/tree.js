/**
 * Where the nodes of a search stand: the column is the step, the row the order within it.
 * @module
 */

/** @typedef {{id: number, parent: number | null}} Node */
/**
 * @typedef {object} Place
 * @property {number} id
 * @property {number} column steps from the root
 * @property {number} row
 * @property {number} hidden how many nodes a folded one stands for
 */

/**
 * Lay out a tree: each column is a list, in which children stand in the order of their parents, so that no two edges
 * cross and what stands first everywhere is a straight line. Children of folded nodes are left out.
 * @param {Node[]} nodes roots have no parent
 * @param {{folded?: Set<number>, rank?: (id: number) => number}} [how] siblings stand by rank, smallest first
 * @returns {{places: Map<number, Place>, columns: number, rows: number}}
 */
export function layoutTree(nodes, { folded = new Set(), rank = (id) => id } = {}) {
  const children = childrenOf(nodes);
  /** @type {Map<number, Place>} */
  const places = new Map();
  let rows = 0;
  let column = 0;
  let level = (children.get(null) ?? []).slice().sort((a, b) => rank(a) - rank(b));
  while (level.length) {
    /** @type {number[]} */
    const next = [];
    level.forEach((id, row) => {
      const below = (children.get(id) ?? []).slice().sort((a, b) => rank(a) - rank(b));
      const shut = folded.has(id);
      places.set(id, { id, column, row, hidden: shut ? descendants(children, id) : 0 });
      if (!shut) next.push(...below);
    });
    rows = Math.max(rows, level.length);
    level = next;
    column++;
  }
  return { places, columns: column, rows };
}

/**
 * The children of each node, in the order given; those of `null` are the roots.
 * @param {Node[]} nodes
 * @returns {Map<number | null, number[]>}
 */
export function childrenOf(nodes) {
  /** @type {Map<number | null, number[]>} */
  const children = new Map();
  for (const { id, parent } of nodes) {
    const siblings = children.get(parent);
    if (siblings) siblings.push(id);
    else children.set(parent, [id]);
  }
  return children;
}

/**
 * How many nodes stand under one.
 * @param {Map<number | null, number[]>} children
 * @param {number} id
 * @returns {number}
 */
function descendants(children, id) {
  let count = 0;
  const waiting = [id];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const below = children.get(next) ?? [];
    count += below.length;
    waiting.push(...below);
  }
  return count;
}

/**
 * The node and those above it, from the root down.
 * @param {Map<number, Node>} byId
 * @param {number} id
 * @returns {number[]}
 */
export function pathTo(byId, id) {
  const path = [];
  for (let at = byId.get(id); at; at = at.parent === null ? undefined : byId.get(at.parent)) path.push(at.id);
  return path.reverse();
}

/**
 * The next node up or down in the same column.
 * @param {Map<number, Place>} places @param {number} id @param {number} by
 * @returns {number | null}
 */
export function beside(places, id, by) {
  const here = places.get(id);
  const column = [...places.values()].filter((each) => each.column === here?.column).sort((a, b) => a.row - b.row);
  const at = column.findIndex((each) => each.id === id) + by;
  return column[at]?.id ?? null;
}

/**
 * In which order siblings stand: first what led to the best finished hypothesis, then what was kept, then what was dropped.
 * @param {any[]} nodes @param {any[]} finished @param {Map<number, any>} byId @returns {Map<number, number>}
 */
export function orderOf(nodes, finished, byId) {
  const order = new Map(nodes.map((node) => [node.id, (node.status === "pruned" ? 1e6 : 1e3) - node.total]));
  for (const each of finished) {
    for (const id of pathTo(byId, each.id)) order.set(id, Math.min(order.get(id) ?? Infinity, -each.score));
  }
  return order;
}

/**
 * Nodes to fold so that a large tree stays small: those after the first steps.
 * @param {any[]} nodes @param {Map<number | null, number[]>} children @param {number} most nodes to show
 * @returns {number[]}
 */
export function foldAtFirst(nodes, children, most) {
  const perStep = nodes.length / Math.max(1, ...nodes.map((node) => node.step));
  const deepest = Math.floor(most / Math.max(1, perStep));
  return nodes.filter((node) => node.step === deepest && children.has(node.id)).map((node) => node.id);
}
