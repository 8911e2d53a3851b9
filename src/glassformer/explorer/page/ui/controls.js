/**
 * Controls: labelled, with native elements underneath, so that keyboard and screen reader need nothing extra.
 * @module
 */

import { h, replace } from "../dom.js";

/** @type {{group: number}} */
const made = { group: 0 };

const FOCUSABLE = "input, select, button, textarea, [tabindex]";

/** What a control is called, whichever element it is drawn with this time. @param {any} element */
function nameOfControl(element) {
  if (element.type === "radio") return `${element.closest("fieldset")?.querySelector("legend")?.textContent}|${element.value}`;
  return element.getAttribute("aria-label") ?? element.closest("label")?.querySelector("span")?.textContent ?? element.textContent;
}

/**
 * Draw something anew; the control that had the focus keeps it, or hands it to what stands in its place.
 * @param {HTMLElement} box @param {...import("../dom.js").Child} children
 */
export function renew(box, ...children) {
  const had = box.contains(document.activeElement) ? /** @type {HTMLElement} */ (document.activeElement) : null;
  const alike = () => (had ? [.../** @type {NodeListOf<HTMLElement>} */ (box.querySelectorAll(FOCUSABLE))].filter((one) => one.tagName === had.tagName && one.getAttribute("role") === had.getAttribute("role")) : []);
  const name = had && nameOfControl(had);
  const place = had ? alike().indexOf(had) : -1;
  replace(box, ...children);
  if (!had) return;
  const now = alike().filter((one) => !(/** @type {any} */ (one).disabled));
  const next = now.find((one) => nameOfControl(one) === name) ?? now[Math.min(place, now.length - 1)];
  next?.focus({ preventScroll: true });
}

/**
 * A radio group that looks like one button.
 * @param {{label: string, options: [string | number, string][], value: string | number,
 *          onchange: (value: any) => void, hideLabel?: boolean}} how
 */
export function segmented({ label, options, value, onchange, hideLabel = false }) {
  const name = `group-${made.group++}`;
  return h(
    "fieldset",
    { class: "segmented" },
    h("legend", { class: hideLabel && "sr-only" }, label),
    h(
      "div",
      { class: "segmented-options" },
      options.map(([option, text]) =>
        h(
          "label",
          null,
          h("input", {
            type: "radio",
            name,
            value: String(option),
            checked: option === value,
            on: { change: () => onchange(option) },
          }),
          h("span", null, text),
        ),
      ),
    ),
  );
}

/**
 * @param {{label: string, min: number, max: number, step: number | "any", value: number,
 *          format?: (x: number) => string, oninput: (x: number) => void, ticks?: number[]}} how
 */
export function slider({ label, min, max, step, value, format = String, oninput }) {
  const output = h("output", { class: "num" }, format(value));
  const input = h("input", {
    type: "range",
    min,
    max,
    step,
    value,
    aria: { valuetext: format(value) },
    on: {
      input: () => {
        const now = Number(input.value);
        const text = format(now);
        replace(output, text);
        input.setAttribute("aria-valuetext", text);
        oninput(now);
      },
    },
  });
  return h("label", { class: "field" }, h("span", null, label), input, output);
}

/**
 * @param {{label: string, options: [string | number, string][], value: string | number | null,
 *          onchange: (value: string) => void, hideLabel?: boolean}} how
 */
export function select({ label, options, value, onchange, hideLabel = false }) {
  const box = h(
    "select",
    { on: { change: () => onchange(box.value) }, aria: { label } },
    options.map(([option, text]) => h("option", { value: String(option) }, text)),
  );
  if (value !== null) box.value = String(value);
  return h("label", { class: "field" }, hideLabel ? null : h("span", null, label), box);
}

/** @param {{label: string, checked: boolean, onchange: (checked: boolean) => void, title?: string}} how */
export function toggle({ label, checked, onchange, title }) {
  const box = h("input", { type: "checkbox", checked, on: { change: () => onchange(box.checked) } });
  return h("label", { class: "toggle", title }, box, h("span", null, label));
}

/** @param {any} text @param {(event: MouseEvent) => void} onclick @param {Record<string, any>} [props] */
export function button(text, onclick, props = {}) {
  return h("button", { type: "button", ...props, on: { click: onclick } }, text);
}
