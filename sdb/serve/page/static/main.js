// The page: which screen it is, keys, and what all screens share.

import { dialog, h, said } from "./dom.js";
import { Problem } from "./api.js";

/** What the server says of the page. @type {{screen: string, table: string, may_write: boolean}} */
export const page = JSON.parse(document.body.dataset.page ?? "{}");

const KEYS = [["/", "search"], ["↑ ↓", "the line before, the next line"], ["Enter", "open it"], ["?", "these keys"], ["Esc", "leave the box; close this"]];

/**
 * Write the state into the address: a member with an empty value is left out.
 * @param {Record<string, string | number | null | undefined>} members
 * @param {boolean} [isNew] whether the browser can go back to what was before
 */
export function remember(members, isNew = false) {
  const now = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(members)) {
    if (value === "" || value === null || value === undefined) now.delete(name);
    else now.set(name, String(value));
  }
  const path = location.pathname + (now.size ? `?${now}` : "");
  history[isNew ? "pushState" : "replaceState"](null, "", path);
}

/** Show what is made, or why it cannot be. @param {HTMLElement} place @param {() => Promise<any>} make */
export async function tried(place, make) {
  try {
    const made = await make();
    if (made !== undefined) place.replaceChildren(...[made].flat());
  } catch (error) {
    if (/** @type {Error} */ (error).name === "AbortError") return;  // something else is asked by now
    place.removeAttribute("aria-busy");
    place.replaceChildren(problem(error));
  }
}

/** @param {unknown} error */
function problem(error) {
  if (!(error instanceof Problem)) throw error;
  const box = said(error.message, "problem");
  if (error.shown) box.append(h("pre", {}, error.shown));
  if (error.hint) box.append(h("span", { class: "hint" }, error.hint));
  return box;
}

/** @param {KeyboardEvent} event */
function pressed(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  const isTyping = target.matches("input, textarea, select, [contenteditable]");
  if (event.key === "Escape" && isTyping) target.blur();
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "?") openHelp();
  else if (event.key === "/") {
    const box = /** @type {HTMLElement | null} */ (document.querySelector("[data-search]"));
    if (!box) return;
    box.focus();
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    const lines = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("tbody th a, [data-line]")]);
    const at = lines.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    const next = lines[event.key === "ArrowDown" ? at + 1 : Math.max(at - 1, 0)];
    if (!next) return;
    next.focus();
  } else return;
  event.preventDefault();
}

function openHelp() {
  const list = h("dl", {}, KEYS.map(([key, does]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, does)]).flat());
  dialog("Keys", list, h("form", { method: "dialog" }, h("button", { autofocus: true }, "Close")));
}

async function start() {
  document.addEventListener("keydown", pressed);
  document.getElementById("help")?.addEventListener("click", openHelp);
  const main = /** @type {HTMLElement} */ (document.getElementById("content"));
  const screens = { tables: "./tables.js", table: "./table.js", versions: "./versions.js", layout: "./layout.js", sql: "./sql.js" };
  const name = /** @type {Record<string, string>} */ (screens)[page.screen];
  if (!name) return;
  await tried(main.appendChild(h("div")), async () => (await import(name)).show(main));
}

start();
