// What pictures share.

import { counted, h, s } from "./dom.js";
import { ticks } from "./times.js";

const TICK = 110;

/** The width of a picture in the units of its texts. */
export function pictureWidth() {
  return Math.max(280, Math.min(innerWidth, 1440) - 80);
}

/** @param {string} label @param {SVGElement} picture */
export function figure(label, picture) {
  return h("figure", { class: "picture" }, h("figcaption", {}, label), picture);
}

/** Times below a picture. @param {{from: number, until: number, width: number, height: number, x: (at: number) => number, left?: number, hasLines?: boolean}} how */
export function axis({ from, until, width, height, x, left = 0, hasLines = false }) {
  return ticks(from, until, (width - left) / TICK).map(({ at, label }) => s("g", {}, hasLines && s("line", { class: "grid", x1: x(at), x2: x(at), y1: 0, y2: height }),
    s("text", { x: Math.min(Math.max(x(at), left + 18), width - 20), y: height + 15, "text-anchor": "middle" }, label)));
}

/** Bars without axes. @param {number[]} values @param {string} label what it shows, for those who do not see it */
export function sparkline(values, label) {
  const most = Math.max(1, ...values);
  const width = 120 / Math.max(values.length, 12);
  const bars = values.map((value, at) => {
    const height = value ? Math.max(1.5, (22 * value) / most) : 0;
    return s("rect", { class: "bar", x: (at * width).toFixed(2), width: Math.max(0.8, width - 0.8).toFixed(2),
      y: (24 - height).toFixed(2), height: height.toFixed(2) }, s("title", {}, counted(value, "row")));
  });
  return s("svg", { class: "spark", viewBox: "0 0 120 24", role: "img", "aria-label": label }, bars);
}
