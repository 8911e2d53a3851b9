/**
 * What the page says by the way: aloud to screen readers, or in a box that goes away.
 * @module
 */

import { bdi, place, replace } from "../dom.js";

const shown = { timer: 0 };

/** @param {string} text */
export function announce(text) {
  place("live").textContent = text;
}

/** @param {string} text @param {boolean} [bad] */
export function toast(text, bad = false) {
  const box = place("toast");
  replace(box, bdi(text));
  box.classList.toggle("bad", bad);
  box.hidden = false;
  clearTimeout(shown.timer);
  shown.timer = window.setTimeout(() => {
    box.hidden = true;
  }, bad ? 9000 : 4000);
}

/** Put a text on the clipboard, and say whether that went well. @param {string} text */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast("Copied.");
  } catch {
    toast("The browser does not let this page copy.", true);
  }
}
