// The histogram: bounds from the index at once, exact counts a moment later; a brush zooms.

import { get } from "./api.js";
import { axis } from "./charts.js";
import { count, counted, h, later, s } from "./dom.js";
import { local, step, utc } from "./times.js";

const [HEIGHT, AXIS] = [150, 20];
const BUCKETS = 100;
const SERIES = 7;

/**
 * @typedef {{from: number, until: number, rows: number, least: number, values: [string, number][]}} Bucket
 * A bucket has at most `rows` rows, and at least `least`.
 */

/**
 * Draw the rows of a version by time: at once bounds from the index, then, after a pause, what is counted.
 * @param {HTMLElement} place @param {string} path
 * @param {{period: Record<string, string>, members?: Record<string, string>, zoom?: (from: number, until: number) => void, pause?: number, signal: AbortSignal,
 *   begun?: (from: number, until: number) => void}} how `period` and `members` are those of requests; with a pause bounds that are exact are enough
 */
export async function histogram(place, path, { period, members = {}, zoom = () => {}, pause = 0, signal, begun = () => {} }) {
  const drawn = await get(`${path}/timeline`, { ...period, buckets: BUCKETS }, signal);
  const [from, until] = [Date.parse(drawn.since), Date.parse(drawn.until)];
  const isKnown = pause > 0 && drawn.most_rows.every((/** @type {number} */ rows, /** @type {number} */ at) => rows === drawn.least_rows[at]);
  begun(from, until);
  draw(place, bounds(drawn, Boolean(members.where)), { from, until, order: [], zoom, isExact: isKnown });
  await new Promise((done) => setTimeout(done, pause));
  signal.throwIfAborted();
  if (isKnown) return null;
  const width = step(Math.max(until - from, 1), BUCKETS);
  const hits = await get(`${path}/hits`, { ...period, ...members, step: `${width / 1e3}s`, format: "json" }, signal);
  const counted = exact(hits.rows, width, Boolean(members.by));
  draw(place, counted.buckets, { order: counted.order, zoom, from: Math.floor(from / width) * width, until: Math.floor((until + width) / width) * width, isExact: true });
  return { ...counted, from, until, isCut: hits.truncated, total: counted.buckets.reduce((sum, bucket) => sum + bucket.rows, 0) };
}

/** The buckets of an answer of /timeline; where rows are filtered none is certain. @param {any} answer @param {boolean} isFiltered @returns {Bucket[]} */
function bounds(answer, isFiltered) {
  const first = Date.parse(answer.since);
  const width = answer.width_us / 1e3;
  return answer.most_rows.map((/** @type {number} */ rows, /** @type {number} */ at) => ({
    from: first + at * width, until: first + (at + 1) * width, rows, least: isFiltered ? 0 : answer.least_rows[at], values: [],
  }));
}

/** The buckets of an answer of /hits, and the values that are counted apart, the most frequent first. @param {any[]} rows @param {number} width @param {boolean} isSplit */
function exact(rows, width, isSplit) {
  /** @type {Map<string, number>} */
  const totals = new Map();
  /** @type {Map<number, Bucket>} */
  const buckets = new Map();
  for (const row of rows) {
    const from = Date.parse(row.time);
    const bucket = buckets.get(from) ?? { from, until: from + width, rows: 0, least: 0, values: [] };
    buckets.set(from, bucket);
    bucket.rows += row.rows;
    bucket.least = bucket.rows;
    if (!isSplit) continue;
    const name = String(row.value);
    totals.set(name, (totals.get(name) ?? 0) + row.rows);
    bucket.values.push([name, row.rows]);
  }
  const order = [...totals].sort((a, b) => b[1] - a[1]).map(([name]) => name);
  return { buckets: [...buckets.values()], order, totals };
}

/** How to draw a histogram once more, when its place has another width. @type {Map<HTMLElement, () => void>} */
const again = new Map();
addEventListener("resize", later(() => again.forEach((redraw, place) => (place.firstChild ? redraw() : null)), 150));

/**
 * @param {HTMLElement} place @param {Bucket[]} buckets
 * @param {{from: number, until: number, isExact: boolean, order: string[], zoom: (from: number, until: number) => void}} how
 */
function draw(place, buckets, how) {
  const { from, until, isExact, order, zoom } = how;
  again.set(place, () => draw(place, buckets, how));
  const WIDTH = Math.max(200, place.clientWidth - 18);
  const most = Math.max(1, ...buckets.map((bucket) => bucket.rows));
  const x = (/** @type {number} */ at) => ((at - from) / (until - from || 1)) * WIDTH;
  const y = (/** @type {number} */ rows) => (rows / most) * (HEIGHT - 12);
  const total = buckets.reduce((sum, bucket) => sum + bucket.rows, 0);
  const label = `${isExact ? "" : "At most "}${counted(total, "row")} from ${utc(from)} to ${utc(until)}; the fullest of ${buckets.length} buckets has ${isExact ? "" : "at most "}${count(most)}`;
  const bars = buckets.map((bucket) => bar(bucket, { x, y, order, isExact }));
  const brush = s("rect", { class: "brush", y: 0, height: HEIGHT, width: 0 });
  const svg = s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT + AXIS}`, role: "img", tabindex: 0, class: "histogram", "aria-label": `${label}. Plus and minus zoom, the arrows go along.` },
    axis({ from, until, width: WIDTH, height: HEIGHT, x, hasLines: true }), bars, s("text", { x: 4, y: 10 }, `${isExact ? "" : "≤ "}${count(most)}`), brush);
  const had = place.contains(document.activeElement);
  place.replaceChildren(svg);
  if (had) svg.focus();
  brushed(svg, brush, WIDTH, (x0, x1) => zoom(from + x0 * (until - from), from + x1 * (until - from)));
  svg.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    const range = until - from;
    /** @type {Record<string, [number, number]>} */
    const moves = { "+": [0.25, -0.25], "-": [-0.5, 0.5], ArrowLeft: [-0.5, -0.5], ArrowRight: [0.5, 0.5] };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    zoom(from + move[0] * range, until + move[1] * range);
  });
}

/** @param {Bucket} bucket @param {{x: (at: number) => number, y: (rows: number) => number, order: string[], isExact: boolean}} how */
function bar(bucket, { x, y, order, isExact }) {
  const left = x(bucket.from);
  const width = Math.max(1, x(bucket.until) - left - 1);
  const piece = (/** @type {number} */ above, /** @type {number} */ rows, /** @type {string} */ kind) => s("rect", { class: kind,
    x: left.toFixed(1), width: width.toFixed(1), y: (HEIGHT - y(above + rows)).toFixed(1), height: Math.max(rows ? 1 : 0, y(rows)).toFixed(1) });
  const amount = isExact || bucket.least === bucket.rows ? counted(bucket.rows, "row") : `${count(bucket.least)} to ${counted(bucket.rows, "row")}`;
  const title = s("title", {}, `${local(bucket.from)} (${utc(bucket.from)}): ${amount}`);
  if (!order.length) return s("g", {}, title, piece(0, bucket.least, "bar"), bucket.rows > bucket.least ? piece(bucket.least, bucket.rows - bucket.least, "bar bound") : "");
  let above = 0;
  const sums = new Array(SERIES).fill(0);
  for (const [value, rows] of bucket.values) sums[Math.min(order.indexOf(value), SERIES - 1)] += rows;
  return s("g", {}, title, sums.map((rows, at) => {
    const drawn = rows ? piece(above, rows, `series c${at}`) : "";
    above += rows;
    return drawn;
  }));
}

/** @param {SVGSVGElement} svg @param {SVGRectElement} brush @param {number} width @param {(x0: number, x1: number) => void} done */
function brushed(svg, brush, width, done) {
  /** @type {number | null} */
  let start = null;
  const place = (/** @type {PointerEvent} */ event) => {
    const box = svg.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
  };
  const show = (/** @type {number} */ from, /** @type {number} */ to) => {
    brush.setAttribute("x", String(Math.min(from, to) * width));
    brush.setAttribute("width", String(Math.abs(to - from) * width));
  };
  const end = () => {
    start = null;
    show(0, 0);
  };
  svg.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    start = place(event);
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener("pointermove", (event) => {
    if (start !== null) show(start, place(event));
  });
  svg.addEventListener("pointerup", (event) => {
    if (start === null) return;
    const [from, to] = [start, place(event)].sort((a, b) => a - b);
    end();
    if (to - from > 0.004) done(from, to);
  });
  svg.addEventListener("pointercancel", end);
}

/** @param {string[]} order @param {Map<string, number>} totals */
export function legend(order, totals) {
  const others = order.slice(SERIES - 1);
  const shown = order.length > SERIES ? order.slice(0, SERIES - 1) : order;
  const items = shown.map((name, at) => h("li", {}, h("i", { class: `c${at}` }), h("bdi", {}, name.slice(0, 60)), ` ${count(totals.get(name))}`));
  if (order.length > SERIES) {
    const rest = others.reduce((sum, name) => sum + (totals.get(name) ?? 0), 0);
    items.push(h("li", {}, h("i", { class: `c${SERIES - 1}` }), `${count(others.length)} others ${count(rest)}`));
  }
  return h("ul", { class: "legend", "aria-label": "Colors" }, items);
}
