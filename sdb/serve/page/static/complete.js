// Completion in a box: a list below it, arrows choose, Enter or Tab takes, Esc leaves.

import { h } from "./dom.js";

let number = 0;
const MOST = 12;

/**
 * Complete what is typed.
 * @param {HTMLInputElement | HTMLTextAreaElement} box
 * @param {(before: string) => {from: number, items: string[]}} suggest texts that may stand from a place on
 */
export function complete(box, suggest) {
  const id = `choices${++number}`;
  const list = h("ul", { role: "listbox", id, class: "choices", "aria-label": "Completions", hidden: true });
  box.after(list);
  for (const [name, value] of Object.entries({ role: "combobox", "aria-autocomplete": "list", "aria-controls": id, "aria-expanded": "false", autocomplete: "off", spellcheck: "false" })) box.setAttribute(name, value);
  let [from, chosen] = [0, -1];
  /** @type {string[]} */
  let items = [];

  function close() {
    items = [];
    list.hidden = true;
    box.setAttribute("aria-expanded", "false");
    box.removeAttribute("aria-activedescendant");
  }

  /** @param {number} at */
  function choose(at) {
    chosen = at;
    [...list.children].forEach((each, index) => each.setAttribute("aria-selected", String(index === at)));
    const id = list.children[at]?.id;
    if (id) box.setAttribute("aria-activedescendant", id);
  }

  /** @param {string} item */
  function take(item) {
    const end = box.selectionStart ?? box.value.length;
    box.setRangeText(item, from, end, "end");
    close();
    box.dispatchEvent(new Event("input", { bubbles: true }));
  }

  function open() {
    const before = box.value.slice(0, box.selectionStart ?? undefined);
    const found = suggest(before);
    from = found.from;
    const typed = before.slice(from);
    items = found.items.filter((item) => item !== typed).slice(0, MOST);
    if (!items.length) return close();
    list.replaceChildren(...items.map((item, at) => h("li", { role: "option", id: `${id}-${at}`, onmousedown: (/** @type {Event} */ event) => {
      event.preventDefault();
      take(item);
    } }, h("bdi", {}, item.length > 80 ? `${item.slice(0, 80)}…` : item))));
    list.hidden = false;
    box.setAttribute("aria-expanded", "true");
    choose(-1);
  }

  box.addEventListener("input", (event) => (/** @type {InputEvent} */ (event).inputType ? open() : close()));
  box.addEventListener("blur", close);
  box.addEventListener("keydown", (event) => {
    const { key } = /** @type {KeyboardEvent} */ (event);
    if (list.hidden) return;
    if (key === "ArrowDown") choose((chosen + 1) % items.length);
    else if (key === "ArrowUp") choose((chosen + items.length - 1) % items.length);
    else if ((key === "Enter" || key === "Tab") && chosen >= 0) take(items[chosen]);
    else if (key === "Escape") close();
    else return;
    event.preventDefault();
    event.stopImmediatePropagation();
  });
}
