/**
 * Looking closer at a picture with cells: wheel, pinch, drag, + − 0 on the keyboard, buttons, and a map of the whole.
 * @module
 */

import { h, num3, replace } from "../dom.js";
import { button } from "./controls.js";

const MOST = 16;
/** Cells of at least so many pixels need no zoom. */
const LEGIBLE = 14;
/** A pointer that moved less than this has clicked. */
const CLICK = 4;

/**
 * @param {any} grid what gridPicture gave
 * @param {{signal: AbortSignal, start: number, onchange: (factor: number) => void}} how
 */
export function zoomable(grid, { signal, start, onchange }) {
  const { element, plane, focusCell } = grid;
  const output = h("output", { class: "num note" });
  let factor = 1;

  const middle = () => {
    const box = element.getBoundingClientRect();
    return { x: box.left + element.clientWidth / 2, y: box.top + element.clientHeight / 2 };
  };

  /** What is under a point of the screen stays there. @param {number} wanted @param {{x: number, y: number}} [at] @returns {boolean} */
  function zoomTo(wanted, at = middle()) {
    const next = Math.max(1, Math.min(MOST, wanted));
    if (next === factor) return false;
    const before = plane.getBoundingClientRect();
    const share = { x: (at.x - before.left) / before.width, y: (at.y - before.top) / before.height };
    factor = next;
    grid.zoomTo(factor);
    const after = plane.getBoundingClientRect();
    element.scrollLeft += after.left + share.x * after.width - at.x;
    element.scrollTop += after.top + share.y * after.height - at.y;
    replace(output, `${num3(factor)}×`);
    onchange(factor);
    return true;
  }

  element.addEventListener("wheel", (/** @type {WheelEvent} */ event) => {
    const { width, height } = grid.cell();
    const worth = factor > 1 || Math.min(width, height) < LEGIBLE;
    // A wheel that only passes by scrolls the page; a pinch on a touchpad arrives as a wheel with Ctrl.
    const meant = event.ctrlKey || event.metaKey || (worth && !event.shiftKey && element.contains(document.activeElement));
    if (!meant) return;
    const turned = event.deltaY * (event.deltaMode === 1 ? 16 : 1) * (event.ctrlKey ? 0.01 : 0.002);
    if (zoomTo(factor * Math.exp(-turned), { x: event.clientX, y: event.clientY }) || event.ctrlKey) event.preventDefault();
  }, { signal, passive: false });

  /** @type {{apart: number, factor: number} | null} */
  let pinch = null;
  const apart = (/** @type {TouchList} */ touches) => Math.hypot(touches[0].clientX - touches[1].clientX, touches[0].clientY - touches[1].clientY) || 1;
  element.addEventListener("touchstart", (/** @type {TouchEvent} */ event) => {
    pinch = event.touches.length === 2 ? { apart: apart(event.touches), factor } : null;
  }, { signal, passive: true });
  element.addEventListener("touchmove", (/** @type {TouchEvent} */ event) => {
    if (!pinch || event.touches.length !== 2) return;
    event.preventDefault();
    const [a, b] = event.touches;
    zoomTo((pinch.factor * apart(event.touches)) / pinch.apart, { x: (a.clientX + b.clientX) / 2, y: (a.clientY + b.clientY) / 2 });
  }, { signal, passive: false });

  /** Fingers scroll by themselves; a mouse drags. @type {{x: number, y: number, left: number, top: number, moved: boolean} | null} */
  let drag = null;
  plane.addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => {
    const more = element.scrollWidth > element.clientWidth || element.scrollHeight > element.clientHeight;
    drag = more && event.button === 0 && event.pointerType !== "touch" ? { x: event.clientX, y: event.clientY, left: element.scrollLeft, top: element.scrollTop, moved: false } : null;
  }, { signal });
  plane.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => {
    if (!drag || !event.buttons) return;
    const [x, y] = [event.clientX - drag.x, event.clientY - drag.y];
    if (!drag.moved && Math.hypot(x, y) < CLICK) return;
    if (!drag.moved) plane.setPointerCapture(event.pointerId);
    drag.moved = true;
    plane.classList.add("dragged");
    element.scrollLeft = drag.left - x;
    element.scrollTop = drag.top - y;
  }, { signal });
  for (const end of ["pointerup", "pointercancel"]) plane.addEventListener(end, () => plane.classList.remove("dragged"), { signal });
  element.addEventListener("click", (/** @type {Event} */ event) => {
    if (drag?.moved) event.stopPropagation();
    drag = null;
  }, { signal, capture: true });

  focusCell.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const wanted = /** @type {Record<string, number>} */ ({ "+": factor * 2, "=": factor * 2, "-": factor / 2, 0: 1 })[event.key];
    if (wanted === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const box = focusCell.getBoundingClientRect();
    zoomTo(wanted, { x: box.left + box.width / 2, y: box.top + box.height / 2 });
    focusCell.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, { signal });

  if (start > 1) zoomTo(start);
  return {
    zoomTo,
    element: h(
      "div",
      { class: "row", role: "group", aria: { label: "zoom" } },
      button("−", () => zoomTo(factor / 2), { aria: { label: "zoom out" } }),
      button("+", () => zoomTo(factor * 2), { aria: { label: "zoom in" } }),
      button("Fit", () => zoomTo(1)),
      output,
    ),
  };
}

/** The whole matrix, small, with a frame around what is in sight; drag the frame. @param {any} grid @param {AbortSignal} signal */
export function minimap(grid, signal) {
  const canvas = h("canvas", { class: "pixelated", aria: { hidden: "true" } });
  const box = h("div", { class: "minimap-frame" });
  const element = h("div", { class: "minimap" }, canvas, box);
  const margins = () => ({ x: grid.plane.offsetLeft, y: grid.plane.offsetTop });

  function frame() {
    const { x, y } = margins();
    const whole = { w: grid.plane.offsetWidth || 1, h: grid.plane.offsetHeight || 1 };
    const seen = {
      "inset-inline-start": grid.element.scrollLeft / whole.w,
      "inset-block-start": grid.element.scrollTop / whole.h,
      "inline-size": Math.min(1, (grid.element.clientWidth - x) / whole.w),
      "block-size": Math.min(1, (grid.element.clientHeight - y) / whole.h),
    };
    for (const [name, part] of Object.entries(seen)) box.style.setProperty(name, `${100 * part}%`);
  }

  /** @param {PointerEvent} event */
  function follow(event) {
    const { x, y } = margins();
    const bounds = element.getBoundingClientRect();
    grid.element.scrollTo({
      left: ((event.clientX - bounds.left) / bounds.width) * grid.plane.offsetWidth - (grid.element.clientWidth - x) / 2,
      top: ((event.clientY - bounds.top) / bounds.height) * grid.plane.offsetHeight - (grid.element.clientHeight - y) / 2,
    });
  }
  element.addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => (element.setPointerCapture(event.pointerId), follow(event)), { signal });
  element.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => event.buttons && follow(event), { signal });
  grid.element.addEventListener("scroll", () => requestAnimationFrame(frame), { signal, passive: true });
  return {
    element,
    frame,
    /** @param {HTMLCanvasElement} whole */
    paint(whole) {
      canvas.width = whole.width;
      canvas.height = whole.height;
      canvas.getContext("2d")?.drawImage(whole, 0, 0);
      requestAnimationFrame(frame);
    },
  };
}
