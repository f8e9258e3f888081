// Requests to the service, with the rights of the reader.

/** What the server says of an error, as a problem (RFC 9457). */
export class Problem extends Error {
  /** @param {number} status @param {any} members */
  constructor(status, members) {
    super(members.detail || members.title || `status ${status}`);
    this.status = status;
    this.hint = members.hint || members.expected || "";
    this.shown = members.shown || "";
    this.members = members;
  }
}

/** What an answer says besides its body. @typedef {{blocks: string, ms: number, versions: string, etag: string, said: string[]}} Told */

const encode = encodeURIComponent;

/** A path with members; those without a value are left out. @param {string} path @param {Record<string, any>} [members] */
export function url(path, members = {}) {
  const given = Object.entries(members).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return path + (given.length ? `?${given.map(([name, value]) => `${encode(name)}=${encode(value)}`).join("&")}` : "");
}

/** The path of a table. @param {string} name @param {string} [at] a version of it */
export function tablePath(name, at = "") {
  return `/v1/tables/${encode(at ? `${name}@${at}` : name)}`;
}

/** @param {Response} response @returns {Told} */
export function told(response) {
  const header = (/** @type {string} */ name) => response.headers.get(name) ?? "";
  const said = [header("sdb-warnings"), header("sdb-notes")].filter(Boolean);
  const ms = Number(/dur=([\d.]+)/.exec(header("server-timing"))?.[1] ?? 0);
  return { blocks: header("sdb-blocks"), ms, versions: header("sdb-versions"), etag: header("etag"), said };
}

/**
 * Send a request; where the token does not count any more, the reader logs in again.
 * @param {string} path
 * @param {RequestInit} [options]
 * @returns {Promise<Response>}
 */
export async function send(path, options = {}) {
  let response;
  try {
    response = await fetch(path, { ...options, credentials: "same-origin" });
  } catch (error) {
    if (/** @type {Error} */ (error).name === "AbortError") throw error;
    throw new Problem(0, { detail: "the server does not answer", hint: "it may be starting, or gone: try again" });
  }
  if (response.status === 401) {
    location.assign(url("/login", { next: location.pathname + location.search }));
    return new Promise(() => {});
  }
  if (!response.ok) {
    const members = await response.json().catch(() => ({ detail: `the server answers ${response.status}` }));
    throw new Problem(response.status, members);
  }
  return response;
}

/** Read JSON; whole numbers that a double cannot hold stay as they are. @param {string} text @returns {any} */
export function parse(text) {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  return JSON.parse(text, /** @type {any} */ ((/** @type {string} */ _, /** @type {any} */ value, /** @type {any} */ context) => {
    if (typeof value !== "number" || Number.isSafeInteger(value) || !/^-?\d+$/.test(context?.source ?? "")) return value;
    return BigInt(context.source);
  }));
}

/** Ask for JSON. @param {string} path @param {Record<string, any>} [members] @param {AbortSignal} [signal] @returns {Promise<any>} */
export async function get(path, members = {}, signal) {
  const response = await send(url(path, members), { signal, headers: { accept: "application/json" } });
  return Object.assign(parse(await response.text()), { told: told(response) });
}

/** Change something. @param {string} method @param {string} path @param {object} body @param {Record<string, string>} [headers] */
export async function change(method, path, body, headers = {}) {
  const options = { method, body: JSON.stringify(body), headers: { "content-type": "application/json", ...headers } };
  const response = await send(path, options);
  return response.status === 204 ? {} : response.json();
}

/**
 * Read the rows of a query as they come, up to a number of bytes.
 * @param {Record<string, any>} members
 * @param {AbortSignal} [signal]
 * @param {number} [mostBytes]
 * @returns {Promise<{rows: any[], bytes: number, isCut: boolean, told: Told}>}
 */
export async function rows(members, signal, mostBytes = 8 << 20) {
  const stop = new AbortController();
  signal?.addEventListener("abort", () => stop.abort());
  const response = await send(url("/v1/query", { ...members, format: "ndjson", end: 1 }), { signal: stop.signal });
  const about = told(response);
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
  const decoder = new TextDecoder();
  /** @type {any[]} */
  const found = [];
  let [rest, bytes, isCut] = ["", 0, false];
  for (;;) {
    const { done, value } = await reader.read();
    if (value) bytes += value.length;
    rest += decoder.decode(value, { stream: !done });
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const row = parse(line);
      if (row.$error) throw new Problem(row.$error.status, row.$error);
      if (row.$end) about.said = [...(row.$end.warnings ?? []), ...(row.$end.notes ?? [])];
      else found.push(row);
    }
    if (done) break;
    if (bytes > mostBytes) {
      isCut = true;
      stop.abort();
      break;
    }
  }
  return { rows: found, bytes, isCut, told: about };
}

/** Run jobs, a few at the same time. @template T @param {T[]} items @param {(item: T) => Promise<void>} job @param {number} [atOnce] */
export async function each(items, job, atOnce = 2) {
  const left = [...items];
  await Promise.all(Array.from({ length: atOnce }, async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await job(item);
  }));
}
