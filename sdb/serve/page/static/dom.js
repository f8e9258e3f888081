// Elements, and texts of strangers in them: nothing here makes HTML of a text.

const SVG = "http://www.w3.org/2000/svg";
// Control characters, and marks that turn the direction of a line or cannot be seen.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
export const MOST_CHARACTERS = 400;

/** A text as it is shown: what cannot be seen, or would turn the line around, is spelt out. @param {unknown} value */
export function shown(value) {
  return String(value).replace(UNSEEN, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** @typedef {Node | string | number | null | undefined | false} Child */

/** @param {Element} element @param {Record<string, any>} attributes @param {Child[]} children */
function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") /** @type {any} */ (element)[name] = value;
    else element.setAttribute(name, value === true ? "" : shown(value));
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : shown(child));
  }
  return element;
}

/** Make an element. @param {string} name @param {Record<string, any>} [attributes] @param {...(Child | Child[])} children @returns {any} */
export function h(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, /** @type {any} */ (children));
}

/** Make an element of a picture. @param {string} name @param {Record<string, any>} [attributes] @param {...(Child | Child[])} children @returns {any} */
export function s(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, /** @type {any} */ (children));
}

/** A text of data: short ones whole, of long ones the beginning, and a button for more. @param {unknown} value @param {number} [most] */
export function data(value, most = MOST_CHARACTERS) {
  const text = String(value);
  if (text.length <= most) return h("bdi", {}, text);
  const more = Math.min(text.length, 50 * MOST_CHARACTERS);
  const rest = `${count(text.length)} characters`;
  const element = h("bdi", {}, text.slice(0, most), button(`… ${rest}`, (event) => {
    event.stopPropagation();
    element.replaceChildren(shown(text.slice(0, more)), more < text.length ? ` … ${rest}; a query has the rest` : "");
  }, { class: "more", "aria-label": `Show more of ${rest}` }));
  return element;
}

/** @param {number | null | undefined} number */
export function count(number) {
  return number === null || number === undefined ? "not counted" : number.toLocaleString("en-US");
}

/** @param {number} number @param {string} one @param {string} [many] */
export function counted(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

/** @param {number | null | undefined} bytes */
export function size(bytes) {
  if (bytes === null || bytes === undefined) return "not known";
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let at = 0;
  for (; bytes >= 1024 && at < units.length - 1; at++) bytes /= 1024;
  return `${at && bytes < 100 ? bytes.toFixed(1) : Math.round(bytes)} ${units[at]}`;
}

/** @param {number} part @param {number} whole */
export function share(part, whole) {
  const percent = whole ? (100 * part) / whole : 0;
  if (percent > 0 && percent < 0.1) return "< 0.1 %";
  return `${percent.toFixed(percent < 10 && percent % 1 ? 1 : 0)} %`;
}

/** @param {string} text @param {(event: Event) => void} onclick @param {Record<string, any>} [attributes] */
export function button(text, onclick, attributes = {}) {
  return h("button", { type: "button", onclick, ...attributes }, text);
}

/** What is made when it is opened first. @param {HTMLElement} summary @param {() => Node} make */
export function unfolding(summary, make) {
  const details = h("details", {}, summary);
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1) details.append(make());
  });
  return details;
}

/** Names with values. @param {[string, string][]} pairs */
export function facts(pairs) {
  return h("dl", { class: "facts" }, pairs.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

/** A box above the page. @param {string} title @param {...Child} children @returns {Promise<string>} the value of the button that closed it */
export function dialog(title, ...children) {
  const box = h("dialog", { "aria-label": title }, h("h2", {}, title), children);
  document.body.append(box);
  box.showModal();
  return new Promise((done) => box.addEventListener("close", () => {
    box.remove();
    done(box.returnValue);
  }));
}

/** What an answer says of the blocks that were read. @param {{blocks: string, ms: number}} told */
export function blocksRead({ blocks, ms }) {
  const [part, whole] = blocks.split("/").map(Number);
  return `${blocks ? `${count(part)} of ${counted(whole, "block")}, ${share(part, whole)}, ` : ""}${Math.round(ms)} ms`;
}

/** Words for an element that changes by itself, and is read aloud. @param {string} text @param {string} [kind] */
export function said(text, kind = "note") {
  return h("p", { class: kind, role: kind === "problem" ? "alert" : "status" }, text);
}

/** @template {any[]} T @param {(...args: T) => void} call @param {number} ms */
export function later(call, ms) {
  let timer = 0;
  return (/** @type {T} */ ...args) => {
    clearTimeout(timer);
    timer = window.setTimeout(() => call(...args), ms);
  };
}
