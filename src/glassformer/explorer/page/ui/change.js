/**
 * What differs between two traces: their outputs word by word, and the same output token by token under both.
 * @module
 */

import { bdi, h, num, token } from "../dom.js";

/**
 * Two outputs as one line: what went is struck, what came is underlined.
 * @param {{op: string, a: string[], b: string[]}[]} edits
 */
export function wordDifference(edits) {
  return h(
    "p",
    { class: "word-diff" },
    edits.map(({ op, a, b }) => [
      op === "equal" && h("span", null, bdi(a.join(" ")), " "),
      op !== "equal" && a.length > 0 && h("del", null, h("span", { class: "sr-only" }, "gone: "), bdi(a.join(" "))),
      op !== "equal" && a.length > 0 && " ",
      op !== "equal" && b.length > 0 && h("ins", null, h("span", { class: "sr-only" }, "new: "), bdi(b.join(" "))),
      op !== "equal" && b.length > 0 && " ",
    ]),
    edits.every((each) => each.op === "equal") && h("span", { class: "badge" }, "the same words"),
  );
}

/**
 * The first output under both, with a bar for what each token lost or won.
 * @param {{tokens: string[], a: number[], b: number[], difference: number[], total: number}} same
 * @param {[string, string]} names
 */
export function tokenDifference(same, names) {
  const most = Math.max(0.5, ...same.difference.map(Math.abs));
  return h(
    "div",
    { class: "scroll-x", tabIndex: 0, role: "region", aria: { label: "log-probability of each token under both" } },
    h(
      "table",
      { class: "token-diff" },
      h("caption", { class: "sr-only" }, "Log-probability of each token of the first output under both"),
      h("thead", null, h("tr", null, ["token", ...names, "difference"].map((name, i) => h("th", { scope: "col", class: i > 0 && i < 3 && "numeric" }, bdi(name))))),
      h(
        "tbody",
        null,
        same.tokens.map((piece, i) =>
          h(
            "tr",
            null,
            h("th", { scope: "row" }, token({ text: piece })),
            h("td", { class: "numeric" }, num(same.a[i])),
            h("td", { class: "numeric" }, num(same.b[i])),
            h("td", null, signedBar(same.difference[i], most)),
          ),
        ),
      ),
      h("tfoot", null, h("tr", null, h("th", { scope: "row" }, "sum"), h("td", { class: "numeric" }, num(sum(same.a))), h("td", { class: "numeric" }, num(sum(same.b))), h("td", null, signedBar(same.total, Math.max(most, Math.abs(same.total)))))),
    ),
  );
}

/** @param {number[]} x */
const sum = (x) => x.reduce((a, b) => a + b, 0);

/**
 * A bar to the left (less) or right (more) of a middle line.
 * @param {number} value
 * @param {number} most
 */
function signedBar(value, most) {
  return h("span", { class: ["signed-bar", value < 0 ? "less" : "more"] }, h("i", { style: { "--share": Math.min(1, Math.abs(value) / (most || 1)) } }), num(value));
}
