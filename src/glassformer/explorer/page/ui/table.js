/**
 * A table that can be sorted and holds only the rows in sight, however long it is.
 * @module
 */

import { bdi, h, num, replace } from "../dom.js";

const ROW = 29;
const MARGIN = 12;

/**
 * @param {import("./types.js").TableOf} table
 * @returns {HTMLElement}
 */
export function dataTable(table) {
  let order = Array.from({ length: table.count }, (_, i) => i);
  let sorted = -1;
  let down = false;
  const body = h("tbody");
  const headings = table.columns.map((column, j) =>
    h(
      "th",
      { scope: "col", class: column.numeric && "numeric" },
      h("button", { type: "button", on: { click: () => sortBy(j) } }, column.label),
    ),
  );
  const scroller = h(
    "div",
    { class: "data-table-scroll", tabIndex: 0, role: "region", aria: { label: table.caption }, on: { scroll: () => fill() } },
    h(
      "table",
      { class: "data-table", aria: { rowcount: table.count + 1 } },
      h("caption", { class: "sr-only" }, table.caption),
      h("thead", null, h("tr", null, headings)),
      body,
    ),
  );

  /** @param {number} j */
  function sortBy(j) {
    down = sorted === j ? !down : Boolean(table.columns[j].numeric);
    sorted = j;
    const keys = order.map((_, i) => table.row(i)[j]);
    order = Array.from(keys, (_, i) => i).sort((a, b) => {
      const [x, y] = [keys[a], keys[b]];
      const sign = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
      return (down ? -sign : sign) || a - b;
    });
    headings.forEach((heading, at) => {
      if (at === j) heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      else heading.removeAttribute("aria-sort");
    });
    fill();
  }

  function fill() {
    const height = scroller.clientHeight || 600;
    const from = Math.max(0, Math.floor(scroller.scrollTop / ROW) - MARGIN);
    const to = Math.min(order.length, Math.ceil((scroller.scrollTop + height) / ROW) + MARGIN);
    /** @param {number} count */
    const space = (count) =>
      count > 0 && h("tr", { aria: { hidden: "true" } }, h("td", { colSpan: table.columns.length, style: { height: `${count * ROW}px`, padding: 0 } }));
    replace(
      body,
      space(from),
      order.slice(from, to).map((i, at) =>
        h(
          "tr",
          { aria: { rowindex: from + at + 2 } },
          table.row(i).map((value, j) =>
            h("td", { class: table.columns[j].numeric && "numeric" }, typeof value === "number" ? num(value) : bdi(String(value ?? ""))),
          ),
        ),
      ),
      space(order.length - to),
    );
  }

  fill();
  requestAnimationFrame(fill);
  return scroller;
}

/** @param {import("./types.js").TableOf} table @returns {string} RFC 4180, without formulas that a spreadsheet would run */
export function csvOf(table) {
  /** @param {string | number | null} value */
  const field = (value) => {
    if (typeof value === "number") return String(value);
    const text = /^[=+\-@\t\r]/.test(value ?? "") ? `'${value}` : String(value ?? "");
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = [table.columns.map((column) => field(column.label)).join(",")];
  for (let i = 0; i < table.count; i++) lines.push(table.row(i).map(field).join(","));
  return `${lines.join("\r\n")}\r\n`;
}
