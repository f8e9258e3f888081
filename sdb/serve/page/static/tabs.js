// The screens of one table.

import { h } from "./dom.js";
import { page } from "./main.js";

const TABS = [["rows", "", "Rows"], ["versions", "/versions", "Versions"], ["layout", "/layout", "Layout"]];

/** @param {string} own */
export function tabs(own) {
  const at = new URLSearchParams(location.search).get("at");
  const path = `/tables/${encodeURIComponent(page.table)}`;
  const end = at ? `?at=${encodeURIComponent(at)}` : "";
  const links = TABS.map(([name, part, title]) => h("li", {}, h("a", { href: `${path}${part}${end}`, "aria-current": name === own ? "page" : null }, title)));
  const whole = at ? h("a", { href: path }, "the newest version") : "";
  return h("nav", { class: "tabs", "aria-label": "Screens of the table" }, h("ul", {}, links), at ? h("span", { class: "pinned" }, `As of ${at}; see `, whole) : "");
}
