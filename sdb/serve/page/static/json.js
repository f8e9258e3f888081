// A value as JSON that unfolds.

import { counted, data, h, shown, unfolding } from "./dom.js";

const MOST_ITEMS = 200;
const PREVIEW = 240;

/** One line of a value, cut. @param {any} value */
export function preview(value) {
  let text = "";
  const walk = (/** @type {any} */ each) => {
    if (text.length > PREVIEW) return;
    if (typeof each === "string") text += JSON.stringify(each.slice(0, PREVIEW));
    else if (each === null || typeof each !== "object") text += String(each);
    else {
      const isList = Array.isArray(each);
      text += isList ? "[" : "{";
      Object.entries(each).slice(0, PREVIEW).forEach(([name, inner], at) => {
        if (text.length > PREVIEW) return;
        text += (at ? ", " : "") + (isList ? "" : `${name}: `);
        walk(inner);
      });
      text += isList ? "]" : "}";
    }
  };
  walk(value);
  return shown(text.length > PREVIEW ? `${text.slice(0, PREVIEW)}…` : text);
}

/** The members of a value, each below the other; those that have members unfold. @param {any} value @returns {HTMLElement} */
export function tree(value) {
  const isList = Array.isArray(value);
  const entries = Object.entries(value);
  const list = h("ul", { class: "json" }, entries.slice(0, MOST_ITEMS).map(([name, inner]) => {
    const key = h("span", { class: "key" }, h("bdi", {}, name.slice(0, 200)), ": ");
    if (inner === null || typeof inner !== "object") return h("li", {}, key, leaf(inner));
    const inside = Object.keys(inner).length;
    if (!inside) return h("li", {}, key, Array.isArray(inner) ? "[]" : "{}");
    const size = Array.isArray(inner) ? counted(inside, "item") : counted(inside, "member");
    return h("li", {}, unfolding(h("summary", {}, key, h("small", {}, size, " "), h("span", { class: "preview" }, preview(inner))), () => tree(inner)));
  }));
  if (entries.length > MOST_ITEMS) list.append(h("li", {}, `… ${counted(entries.length - MOST_ITEMS, isList ? "more item" : "more member")}`));
  return list;
}

/** @param {string | number | boolean | null} value */
export function leaf(value) {
  const kind = value === null ? "null" : typeof value;
  return h("span", { class: `value ${kind}` }, typeof value === "string" ? data(value) : String(value));
}
