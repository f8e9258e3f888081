// Rows as a grid, and as a picture where the first column is a time or a category.

import { axis, figure, pictureWidth } from "./charts.js";
import { button, count, counted, h, s, unfolding } from "./dom.js";
import { leaf, preview, tree } from "./json.js";

const PAGE = 200;
const MOST_BARS = 40;
const MOST_POINTS = 5000;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z$/;

/** @param {any} value */
const isNumber = (value) => typeof value === "number" || typeof value === "bigint";

/** @param {string[]} columns @param {any[]} rows */
export function grid(columns, rows) {
  const numbers = new Set(columns.filter((name) => rows.some((row) => isNumber(row[name])) && rows.every((row) => row[name] === undefined || row[name] === null || isNumber(row[name]))));
  const body = h("tbody");
  const cell = (/** @type {any} */ value, /** @type {string} */ name) => {
    if (value === undefined) return h("td", {});
    if (value === null || typeof value !== "object") return h("td", { class: numbers.has(name) ? "n" : "" }, leaf(value));
    return h("td", {}, unfolding(h("summary", {}, h("span", { class: "preview" }, preview(value).slice(0, 120))), () => tree(value)));
  };
  const fill = () => {
    const from = body.children.length;
    body.append(...rows.slice(from, from + PAGE).map((row) => h("tr", {}, columns.map((name) => cell(row[name], name)))));
    const left = rows.length - body.children.length;
    more.hidden = left <= 0;
    more.textContent = `${count(Math.min(left, PAGE))} more of ${count(left)}`;
  };
  const more = button("", fill);
  fill();
  const head = h("thead", {}, h("tr", {}, columns.map((name) => h("th", { scope: "col", class: numbers.has(name) ? "n" : "" }, h("bdi", {}, name.slice(0, 200))))));
  return h("div", {}, h("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Rows" }, h("table", { class: "grid" }, head, body)), more);
}

/** A picture of the rows; null where they make none. @param {string[]} columns @param {any[]} rows */
export function chart(columns, rows) {
  const [first] = columns;
  const value = columns.slice(1).find((name) => rows.some((row) => isNumber(row[name])));
  const points = rows.filter((row) => row[first] !== undefined && row[first] !== null && isNumber(row[value ?? ""]));
  if (!value || points.length < 2) return null;
  const numbers = points.map((row) => Number(row[value]));
  if (points.every((row) => TIME.test(row[first]))) return points.length > MOST_POINTS ? null : times(points.map((row) => Date.parse(row[first])), numbers, `${value} by ${first}`);
  if (points.every((row) => typeof row[first] === "string")) return categories(points.map((row) => row[first]), numbers, `${value} by ${first}`);
  return null;
}

/** @param {number[]} at @param {number[]} numbers @param {string} label */
function times(at, numbers, label) {
  const [width, height] = [pictureWidth(), 180];
  const [from, to] = [Math.min(...at), Math.max(...at)];
  const gaps = [...new Set(at)].sort((a, b) => a - b).map((each, index, all) => (index ? each - all[index - 1] : Infinity));
  const wide = Math.max(1, (Math.min(...gaps, to - from) / (to - from + Math.min(...gaps) || 1)) * width - 1);
  const [low, high] = [Math.min(0, ...numbers), Math.max(0, ...numbers)];
  const x = (/** @type {number} */ each) => ((each - from) / (to - from || 1)) * (width - wide);
  const y = (/** @type {number} */ number) => height - ((number - low) / (high - low || 1)) * (height - 14);
  const bars = at.map((each, index) => s("rect", { class: "bar", x: x(each).toFixed(1), width: wide.toFixed(1), y: Math.min(y(0), y(numbers[index])).toFixed(1),
    height: Math.max(1, Math.abs(y(0) - y(numbers[index]))).toFixed(1) }, s("title", {}, `${new Date(each).toISOString()}: ${count(numbers[index])}`)));
  return figure(label, s("svg", { viewBox: `0 0 ${width} ${height + 20}`, role: "img", "aria-label": `${label}: ${counted(at.length, "time")}, at most ${count(high)}` },
    bars, axis({ from, until: to, width, height, x: (each) => x(each) + wide / 2 }), s("text", { x: 2, y: 10 }, count(high))));
}

/** @param {string[]} names @param {number[]} numbers @param {string} label */
function categories(names, numbers, label) {
  const shown = Math.min(names.length, MOST_BARS);
  const most = Math.max(...numbers.slice(0, shown).map(Math.abs), Number.MIN_VALUE);
  const width = pictureWidth();
  const left = Math.min(width * 0.35, 280);
  const letters = Math.floor((left - 8) / 8);
  const lines = names.slice(0, shown).map((name, at) => {
    const long = (Math.abs(numbers[at]) / most) * (width - left - 90);
    return s("g", {}, s("title", {}, `${name.slice(0, 200)}: ${count(numbers[at])}`),
      s("text", { x: left - 8, y: at * 20 + 14, "text-anchor": "end" }, name.length > letters ? `${name.slice(0, letters - 1)}…` : name),
      s("rect", { class: "bar", x: left, y: at * 20 + 2, height: 15, width: long.toFixed(1) }),
      s("text", { x: left + long + 6, y: at * 20 + 14 }, count(numbers[at])));
  });
  const rest = names.length > shown ? `, the first ${shown} of ${count(names.length)}` : "";
  return figure(label + rest, s("svg", { viewBox: `0 0 ${width} ${shown * 20}`, role: "img", "aria-label": `${label}${rest}` }, lines));
}
