/**
 * Curves of a distribution: the whole vocabulary by rank, and a few tokens over the steps.
 * @module
 */

import { h, num3, visible } from "../../dom.js";
import { headColour } from "../../draw/colour.js";
import { logSumExp } from "../../math/softmax.js";
import { chart, dashOf } from "../../ui/chart.js";
import { latest } from "../../ui/latest.js";

const STEPS = 96;

/** Probability by rank, and the share of the best tokens together. @param {any} ctx @param {string[]} pieces */
export function rankCurves(ctx, pieces) {
  const ranks = chart(ctx, { label: "Probability of each token by rank", xLabel: "rank (log)", yLabel: "probability (log)", height: 230, legend: false });
  const sums = chart(ctx, { label: "Share of the best tokens together", xLabel: "rank (log)", yLabel: "share together", height: 230, legend: false });
  return {
    element: h("div", { class: "two-charts" }, ranks.element, sums.element),
    picture: () => ranks.picture,
    /** @param {any} now @param {number} temperature */
    draw({ row, plain, d }, temperature) {
      const at = sampleRanks(d.tempered.length);
      /** @param {number[]} list */
      const positive = (list) => list.map((x) => (x > 0 ? x : NaN));
      const p = at.map((rank) => d.tempered[rank - 1]);
      const floor = Math.max(1e-12, Math.min(...p.filter((x) => x > 0)));
      const bands = [{ from: 1, to: Math.max(1.04, d.kept) }];
      /** @param {number} rank */
      const xText = (rank) => `rank ${rank}: ${visible(pieces[row.order[rank - 1]] ?? "")}`;
      ranks.draw({
        xLog: true,
        yLog: true,
        yDomain: [floor, 1],
        bands,
        xText,
        series: [
          ...(temperature !== 1 ? [{ name: "T = 1", x: at, y: positive(at.map((rank) => plain[row.order[rank - 1]])), colour: "var(--muted)", dash: dashOf(2) }] : []),
          { name: `T = ${num3(temperature)}${d.kept < d.tempered.length ? " (shaded: kept)" : ""}`, x: at, y: positive(p), colour: "var(--accent)", area: true },
        ],
      });
      sums.draw({
        xLog: true,
        yDomain: [0, 1],
        bands,
        xText,
        series: [{ name: "share together", x: at, y: sharesAt(d.tempered, at), colour: "var(--accent)" }],
      });
    },
  };
}

/** Ranks at which the curve is drawn: all of the first hundred, then in equal ratios; 1 is the best. @param {number} size */
function sampleRanks(size) {
  const ranks = [];
  for (let rank = 1; rank <= size; rank = rank < 100 ? rank + 1 : Math.ceil(rank * 1.025)) ranks.push(rank);
  if (ranks.length && ranks[ranks.length - 1] !== size) ranks.push(size);
  return ranks;
}

/** What the best tokens have together, at some ranks. @param {ArrayLike<number>} tempered best first @param {number[]} at */
function sharesAt(tempered, at) {
  /** @type {number[]} */
  const together = [];
  let sum = 0;
  for (let rank = 1, i = 0; rank <= tempered.length && i < at.length; rank++) {
    sum += tempered[rank - 1];
    if (rank === at[i]) {
      together.push(Math.min(1, sum));
      i++;
    }
  }
  return together;
}

/** The pinned tokens at every step of this output. @param {any} ctx @param {string[]} pieces */
export function pinnedCurves(ctx, pieces) {
  const { id: trace, steps } = ctx.trace;
  const asking = latest();
  const pinned = chart(ctx, { label: "Pinned tokens over the steps", xLabel: "step", yLabel: "probability", height: 190 });
  const element = h("section", { class: "card", hidden: true, aria: { label: "pinned tokens" } }, h("h3", null, "Pinned tokens at every step (T = 1, no cut)"), pinned.element);
  return {
    element,
    /** @param {number[]} pins @param {number} step */
    async draw(pins, step) {
      const last = asking();
      element.hidden = pins.length === 0 || steps.length < 2;
      if (element.hidden) return;
      const first = Math.max(0, Math.min(step - STEPS / 2, steps.length - STEPS));
      const near = steps.slice(first, first + STEPS);
      try {
        const lines = await Promise.all(
          near.map(async (/** @type {any} */ entry, /** @type {number} */ i) => {
            const { data } = await ctx.source.logits(trace, entry.position ?? entry.step ?? first + i, { signal: ctx.signal });
            const total = logSumExp(data);
            return pins.map((id) => Math.exp(data[id] - total));
          }),
        );
        if (!last() || ctx.signal.aborted) return;
        const x = near.map((/** @type {any} */ _, /** @type {number} */ i) => first + i);
        pinned.draw({
          yDomain: [0, 1],
          marks: [{ x: step, label: "here" }],
          onpick: (at) => ctx.select({ step: Math.round(at) }),
          xText: (at) => `step ${at}`,
          series: pins.map((id, i) => ({ name: visible(pieces[id]), x, y: lines.map((each) => each[i]), colour: headColour(i), dash: dashOf(i), dots: true })),
        });
      } catch {
        if (last()) element.hidden = true;
      }
    },
  };
}
