/**
 * The data contract of docs/explorer-api.md: from a server by HTTP, or from the blob inside an exported file.
 * @module
 */

import { decodeHalf } from "./math/half.js";

/** Replies of traces are kept up to this many bytes. */
const CACHE_BYTES = 64 * 2 ** 20;

/**
 * @typedef {object} Tensor
 * @property {number[]} shape
 * @property {Float32Array | Uint8Array} data
 * @property {Record<string, string>} headers
 */
/** @typedef {{signal?: AbortSignal}} Options */

/** Something the data source refused, in its own words. */
export class SourceError extends Error {
  /** @param {string} message @param {number} status */
  constructor(message, status) {
    super(message);
    this.name = "SourceError";
    this.status = status;
  }
}

/** The most recently used values, as many as fit. */
export class Recent {
  /** @type {Map<string, {value: any, bytes: number}>} */ #entries = new Map();
  #bytes = 0;

  /** @param {number} limit in bytes */
  constructor(limit) {
    this.limit = limit;
  }

  /** @param {string} name */
  get(name) {
    const entry = this.#entries.get(name);
    if (!entry) return undefined;
    this.#entries.delete(name);
    this.#entries.set(name, entry);
    return entry.value;
  }

  /** @param {string} name @param {any} value @param {number} bytes */
  set(name, value, bytes) {
    if (bytes > this.limit) return;
    this.drop(name);
    this.#entries.set(name, { value, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.limit) break;
      this.drop(oldest);
    }
  }

  /** @param {string} name */
  drop(name) {
    const entry = this.#entries.get(name);
    if (!entry) return;
    this.#entries.delete(name);
    this.#bytes -= entry.bytes;
  }

  get bytes() {
    return this.#bytes;
  }
}

/** @param {ArrayBuffer} buffer @param {string} dtype */
function numbers(buffer, dtype) {
  if (dtype === "u8") return new Uint8Array(buffer);
  return dtype === "f16" ? decodeHalf(buffer) : new Float32Array(buffer);
}

/** The calls that both sources share, in terms of `json` and `binary`. */
class Source {
  /** @param {string} path @param {Options} [_options] @returns {Promise<any>} */
  json(path, _options) {
    return Promise.reject(new SourceError(path, 404));
  }

  /** @param {string} path @param {Options} [_options] @returns {Promise<Tensor>} */
  binary(path, _options) {
    return Promise.reject(new SourceError(path, 404));
  }

  /** @param {string} trace @param {Options} [options] */
  meta(trace, options) {
    return this.json(`traces/${trace}/meta`, options);
  }

  /** @param {string} trace @param {string} kind @param {Options} [options] */
  atlas(trace, kind, options) {
    return this.binary(`traces/${trace}/atlas/${kind}`, options);
  }

  /** @param {string} trace @param {Options} [options] */
  heads(trace, options) {
    return this.json(`traces/${trace}/heads`, options);
  }

  /** @param {string} trace @param {string} name @param {Options & {rows?: string, full?: boolean}} [options] */
  tensor(trace, name, { rows, full, signal } = {}) {
    const query = new URLSearchParams();
    if (rows) query.set("rows", rows);
    if (full) query.set("dtype", "f32");
    const asked = query.toString();
    return this.binary(`traces/${trace}/t/${name}${asked ? `?${asked}` : ""}`, { signal });
  }

  /** @param {string} trace @param {string} head kind.layer.head @param {number} q @param {number} k @param {Options} [options] */
  cell(trace, head, q, k, options) {
    return this.json(`traces/${trace}/cell/${head}/${q}/${k}`, options);
  }

  /** @param {string} trace @param {number} step @param {Options} [options] */
  logits(trace, step, options) {
    return this.binary(`traces/${trace}/logits/${step}`, options);
  }

  /** @param {string} trace @param {Options} [options] */
  lens(trace, options) {
    return this.json(`traces/${trace}/lens`, options);
  }
}

/** A running `glassformer explore`. */
export class HttpSource extends Source {
  live = true;
  #base = new URL("api/", document.baseURI);
  /** @type {string | null} */ #token;
  #recent = new Recent(CACHE_BYTES);
  /** Requests by trace, to ask again for one that the server has dropped. @type {Map<string, any>} */ #requests = new Map();

  /** @param {string | null} token */
  constructor(token = null) {
    super();
    this.#token = token;
  }

  /** @param {string} path @param {RequestInit} init @returns {Promise<Response>} */
  async #ask(path, init, again = true) {
    const headers = new Headers(init.headers);
    if (this.#token) headers.set("Authorization", `Bearer ${this.#token}`);
    let reply;
    try {
      reply = await fetch(new URL(path, this.#base), { ...init, headers, credentials: "same-origin" });
    } catch (error) {
      if (init.signal?.aborted) throw error;
      throw new SourceError("the server does not answer; is glassformer explore still running?", 0);
    }
    if (reply.ok) return reply;
    const trace = /^traces\/([0-9a-f]+)/.exec(path)?.[1];
    const request = trace && this.#requests.get(trace);
    if (reply.status === 410 && request && again) {
      await this.post("traces", request, { signal: init.signal ?? undefined });
      return this.#ask(path, init, false);
    }
    let said = `${reply.status} ${reply.statusText}`;
    try {
      const problem = await reply.json();
      said = problem.hint ? `${problem.detail}; ${problem.hint}` : problem.detail ?? said;
    } catch {
      // Not a problem document: the status line must do.
    }
    throw new SourceError(said, reply.status);
  }

  /** @param {string} path @param {Options} [options] @returns {Promise<any>} */
  async json(path, { signal } = {}) {
    const keep = /^traces\/|\/vocabulary|\/pca|\/neighbours|\/positions/.test(path) && !/\/(heads|meta)$/.test(path);
    const known = keep && this.#recent.get(path);
    if (known) return known;
    const reply = await this.#ask(path, { signal });
    const text = await reply.text();
    const value = JSON.parse(text);
    if (keep) this.#recent.set(path, value, 2 * text.length);
    if (/\/meta$/.test(path)) this.#requests.set(value.id, value.request);
    return value;
  }

  /** @param {string} path @param {any} body @param {Options} [options] @returns {Promise<any>} */
  async post(path, body, { signal } = {}) {
    const reply = await this.#ask(path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
      signal,
    });
    const value = await reply.json();
    if (path === "traces") this.#requests.set(value.id, body);
    return value;
  }

  /** @param {string} path @param {Options} [options] @returns {Promise<Tensor>} */
  async binary(path, { signal } = {}) {
    const known = this.#recent.get(path);
    if (known) return known;
    const reply = await this.#ask(path, { signal });
    const buffer = await reply.arrayBuffer();
    const shape = (reply.headers.get("X-Shape") ?? "").split(",").filter(Boolean).map(Number);
    const data = numbers(buffer, reply.headers.get("X-Dtype") ?? "f32");
    const tensor = { shape, data, headers: Object.fromEntries(reply.headers) };
    this.#recent.set(path, tensor, data.byteLength);
    return tensor;
  }

  /** A file, as it is. @param {string} path @param {Options} [options] */
  async blob(path, { signal } = {}) {
    return (await this.#ask(path, { signal })).blob();
  }

  /**
   * Server-sent events, read by fetch since an EventSource sends no headers.
   * @param {string} path @param {(name: string, data: any) => void} onEvent @param {Options & {body?: any}} [options]
   */
  async stream(path, onEvent, { signal, body } = {}) {
    const init = body === undefined
      ? { signal }
      : { signal, method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
    const reply = await this.#ask(path, init);
    const reader = /** @type {ReadableStream<Uint8Array>} */ (reply.body).getReader();
    const decoder = new TextDecoder();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += decoder.decode(value, { stream: true });
      const events = rest.split(/\r?\n\r?\n/);
      rest = /** @type {string} */ (events.pop());
      for (const event of events) {
        let name = "message";
        const data = [];
        for (const line of event.split(/\r?\n/)) {
          if (line.startsWith("event:")) name = line.slice(6).trim();
          else if (line.startsWith("data:")) data.push(line.slice(5).trimStart());
        }
        if (data.length) onEvent(name, JSON.parse(data.join("\n")));
      }
    }
  }
}

/** What an exported file holds. */
export class EmbeddedSource extends Source {
  live = false;
  /** @type {any} */ #header;
  /** @type {ArrayBuffer} */ #buffer;
  #start;

  /** @param {ArrayBuffer} buffer the blob, unpacked */
  constructor(buffer) {
    super();
    const view = new DataView(buffer);
    const length = view.getUint32(4, true);
    this.#header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
    this.#buffer = buffer;
    this.#start = 8 + length;
    this.trace = this.#header.trace;
    this.run = this.#header.run;
  }

  /** @param {string} text base64 of gzip */
  static async unpack(text) {
    const packed = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new EmbeddedSource(await new Response(stream).arrayBuffer());
  }

  /** @param {string} path */
  #find(path) {
    const [route, query] = path.split("?");
    const entries = this.#header.entries;
    const entry = entries[`/api/${path}`] ?? entries[`/api/${route}`];
    if (!entry) throw new SourceError("not in this file; open it with glassformer explore", 404);
    return { entry, bytes: this.#buffer.slice(this.#start + entry.offset, this.#start + entry.offset + entry.length), query };
  }

  /** @param {string} path @returns {Promise<any>} */
  async json(path) {
    return JSON.parse(new TextDecoder().decode(this.#find(path).bytes));
  }

  /** @param {string} path @returns {Promise<Tensor>} */
  async binary(path) {
    const { entry, bytes, query } = this.#find(path);
    const headers = Object.fromEntries(Object.entries(entry.headers ?? {}).map(([k, v]) => [k.toLowerCase(), String(v)]));
    const tensor = { shape: entry.shape, data: numbers(bytes, entry.dtype), headers };
    const rows = new URLSearchParams(query).get("rows");
    if (!rows) return tensor;
    const [from, to] = rows.split(":").map(Number);
    const width = tensor.shape.slice(1).reduce((/** @type {number} */ a, /** @type {number} */ b) => a * b, 1);
    return { ...tensor, shape: [to - from, ...tensor.shape.slice(1)], data: tensor.data.slice(from * width, to * width) };
  }

  /** @param {string} _path @param {any} _body @returns {Promise<any>} */
  async post(_path, _body) {
    throw new SourceError("this needs the model; open the run with glassformer explore", 404);
  }

  /** @param {string} _path @param {any} _onEvent */
  async stream(_path, _onEvent) {
    throw new SourceError("this needs the model; open the run with glassformer explore", 404);
  }
}
