/**
 * The picture of a search: a box for each node, an edge from its parent, and the marks on them.
 * @module
 */

import { h, num3, replace, svg, visible } from "../../dom.js";

const COLUMN = 122;
const ROW = 28;
const BOX = { width: 92, height: 22 };
const LETTER = 7.3;
const DIGIT = 6;

/** @typedef {ReturnType<typeof import("../../draw/tree.js").layoutTree>} Layout */

/** @param {number} column */
const left = (column) => 8 + column * COLUMN;
/** @param {number} row */
const middle = (row) => 38 + row * ROW;

/**
 * An empty tree; `draw` fills it, as often as wanted.
 * @param {Map<number, any>} byId @param {Map<number | null, number[]>} children
 * @param {{onpick: (id: number) => void, onopen: (id: number) => void}} how
 */
export function treePicture(byId, children, { onpick, onopen }) {
  const picture = svg("svg", { class: "tree", role: "tree", "aria-label": "Search tree. Arrow keys move along it, Enter opens a trace, f folds.", tabindex: 0 });
  const element = h("div", { class: "tree-scroll" }, picture);

  /** @param {any} node @param {any} place @param {Set<number>} folded */
  function box(node, place, folded) {
    const said = sayNode(node);
    const text = node.parent === null ? "start" : visible(node.piece);
    const figure = num3(node.logp);
    const fits = text.length * LETTER + figure.length * DIGIT < BOX.width - 18;
    const group = svg(
      "g",
      {
        class: ["node", node.status],
        role: "treeitem",
        id: `tree-node-${node.id}`,
        "data-node": node.id,
        "aria-level": place.column + 1,
        "aria-label": said,
        "aria-expanded": children.has(node.id) ? String(!folded.has(node.id)) : null,
        "aria-selected": "false",
        transform: `translate(${left(place.column)} ${middle(place.row) - BOX.height / 2})`,
      },
      svg("title", null, said),
      svg("rect", { width: BOX.width, height: BOX.height, rx: 6 }),
      svg("text", { x: 8, y: 15 }, text.length > 10 ? `${text.slice(0, 9)}…` : text),
      node.parent !== null && fits && svg("text", { class: "node-p", x: BOX.width - 6, y: 15, "text-anchor": "end" }, figure),
      place.hidden > 0 && svg("text", { class: "node-more", x: BOX.width + 5, y: 15 }, `+${place.hidden}`),
    );
    group.addEventListener("click", () => onpick(node.id));
    group.addEventListener("dblclick", () => onopen(node.id));
    return group;
  }

  return {
    element,
    picture,
    /** @param {Layout} placed @param {Set<number>} folded */
    draw(placed, folded) {
      const width = placed.columns * COLUMN + 40;
      const height = placed.rows * ROW + 40;
      picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
      picture.setAttribute("width", String(width));
      picture.setAttribute("height", String(height));
      const places = [...placed.places.values()];
      const edges = places.map((place) => {
        const node = byId.get(place.id);
        const parent = placed.places.get(node.parent);
        return parent && edge(node, place, parent);
      });
      const boxes = places.map((place) => box(byId.get(place.id), place, folded));
      replace(picture, columnHeads(placed.columns, height), svg("g", { class: "edges", "aria-hidden": "true" }, edges), svg("g", { role: "presentation" }, boxes));
    },
    /** Mark the way to the best end. @param {Set<number>} path */
    markBest(path) {
      for (const each of picture.querySelectorAll("[data-node]")) each.classList.toggle("best", path.has(Number(each.getAttribute("data-node"))));
    },
    /** Mark a node as the selected one. @param {import("../../draw/tree.js").Place} place @param {boolean} scroll into sight */
    select(place, scroll) {
      const node = picture.querySelector(`#tree-node-${place.id}`);
      for (const each of picture.querySelectorAll(".node.selected")) {
        each.classList.remove("selected");
        each.setAttribute("aria-selected", "false");
      }
      picture.setAttribute("aria-activedescendant", node.id);
      node.setAttribute("aria-selected", "true");
      node.classList.add("selected");
      if (!scroll) return;
      const [x, y] = [left(place.column), middle(place.row)];
      if (x < element.scrollLeft || x + BOX.width > element.scrollLeft + element.clientWidth) element.scrollLeft = x - element.clientWidth / 2;
      if (y < element.scrollTop + 20 || y > element.scrollTop + element.clientHeight - 20) element.scrollTop = y - element.clientHeight / 2;
    },
  };
}

/** @param {number} columns @param {number} height */
function columnHeads(columns, height) {
  return svg(
    "g",
    { class: "tree-steps", "aria-hidden": "true" },
    Array.from({ length: Math.max(0, columns - 1) }, (_, i) => [
      svg("line", { x1: left(i + 1) + BOX.width / 2, x2: left(i + 1) + BOX.width / 2, y1: 20, y2: height }),
      svg("text", { x: left(i + 1) + BOX.width / 2, y: 13, "text-anchor": "middle" }, `step ${i}`),
    ]),
  );
}

/** @param {any} node @param {any} place @param {any} parent */
function edge(node, place, parent) {
  const [x0, y0, x1, y1] = [left(parent.column) + BOX.width, middle(parent.row), left(place.column), middle(place.row)];
  const bend = (x1 - x0) / 2;
  return svg("path", {
    class: ["edge", node.status],
    "data-node": node.id,
    d: `M${x0} ${y0}C${x0 + bend} ${y0} ${x1 - bend} ${y1} ${x1} ${y1}`,
    "stroke-width": (0.8 + 4.2 * Math.exp(node.logp)).toFixed(2),
  });
}

/** @param {any} node */
export function sayNode(node) {
  if (node.parent === null) return "start of the search";
  const words = { kept: "kept", pruned: "dropped", finished: "finished", root: "start" };
  return `${visible(node.piece)}, ${/** @type {any} */ (words)[node.status]}, log-probability ${num3(node.logp)}, sum ${num3(node.total)}`;
}
