// A value as JSON that unfolds.

import { counted, data, h, shown } from "./dom.js";

const MOST_ITEMS = 200;
const PREVIEW = 240;

/** One line of a value, cut. @param {any} value */
export function preview(value) {
  let text = "";
  const walk = (/** @type {any} */ each) => {
    if (text.length > PREVIEW) return;
    if (each === null || typeof each !== "object") {
      text += typeof each === "string" ? JSON.stringify(each.slice(0, PREVIEW)) : String(each);
      return;
    }
    const isList = Array.isArray(each);
    text += isList ? "[" : "{";
    let isFirst = true;
    for (const [name, inner] of Object.entries(each)) {
      if (text.length > PREVIEW) break;
      text += (isFirst ? "" : ", ") + (isList ? "" : `${name}: `);
      isFirst = false;
      walk(inner);
    }
    text += isList ? "]" : "}";
  };
  walk(value);
  return shown(text.length > PREVIEW ? `${text.slice(0, PREVIEW)}…` : text);
}

/**
 * The members of a value, each below the other; those that have members unfold.
 * @param {any} value
 * @returns {HTMLElement}
 */
export function tree(value) {
  const isList = Array.isArray(value);
  const entries = Object.entries(value);
  const list = h("ul", { class: "json" }, entries.slice(0, MOST_ITEMS).map(([name, inner]) => {
    const key = h("span", { class: "key" }, h("bdi", {}, name.slice(0, 200)), ": ");
    if (inner === null || typeof inner !== "object") return h("li", {}, key, leaf(inner));
    const inside = Object.keys(inner).length;
    if (!inside) return h("li", {}, key, Array.isArray(inner) ? "[]" : "{}");
    const size = Array.isArray(inner) ? counted(inside, "item") : counted(inside, "member");
    const details = h("details", {}, h("summary", {}, key, h("small", {}, size, " "), h("span", { class: "preview" }, preview(inner))));
    details.addEventListener("toggle", () => {
      if (details.open && details.children.length === 1) details.append(tree(inner));
    });
    return h("li", {}, details);
  }));
  if (entries.length > MOST_ITEMS) list.append(h("li", {}, `… ${counted(entries.length - MOST_ITEMS, isList ? "more item" : "more member")}`));
  return list;
}

/** @param {string | number | boolean | null} value */
export function leaf(value) {
  const kind = value === null ? "null" : typeof value;
  return h("span", { class: `value ${kind}` }, typeof value === "string" ? data(value) : String(value));
}
