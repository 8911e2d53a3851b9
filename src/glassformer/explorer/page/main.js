/**
 * The page begins: its views in their order, and where its data comes from.
 * @module
 */

import { App } from "./app.js";
import { place } from "./dom.js";
import { EmbeddedSource, HttpSource } from "./source.js";
import { Store, takeToken } from "./store.js";
import { view as arithmetic } from "./views/arithmetic.js";
import { view as atlas } from "./views/atlas.js";
import { view as beam } from "./views/beam.js";
import { view as compare } from "./views/compare.js";
import { view as embedding } from "./views/embedding.js";
import { view as head } from "./views/head.js";
import { view as layers } from "./views/layers.js";
import { view as masks } from "./views/masks.js";
import { view as nextToken } from "./views/next-token.js";
import { view as runs } from "./views/runs.js";
import { view as timeMachine } from "./views/time-machine.js";
import { view as tokens } from "./views/tokens.js";
import { view as translate } from "./views/translate.js";
import { view as weights } from "./views/weights.js";
import { view as whatIf } from "./views/what-if.js";

/** In the order of the paper; the first nine have a digit. A null begins a new group. */
const ORDER = [translate, null, tokens, embedding, atlas, head, arithmetic, masks, layers, nextToken, beam, null, whatIf, compare, timeMachine, null, runs, weights];

async function boot() {
  const blob = place("glassformer-data");
  const source = blob ? await EmbeddedSource.unpack(blob.textContent) : new HttpSource(takeToken());
  const app = new App(source, new Store(), ORDER);
  try {
    await app.start();
  } catch (error) {
    app.fail(error);
  }
}

boot();
