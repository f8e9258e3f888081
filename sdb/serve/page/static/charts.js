// Small pictures.

import { counted, s } from "./dom.js";

/**
 * Bars without axes.
 * @param {number[]} values @param {string} label what it shows, for those who do not see it
 */
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
