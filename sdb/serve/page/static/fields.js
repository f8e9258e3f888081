// The fields of a table: types, share of rows, frequent values; a click filters or excludes.

import { get, tablePath } from "./api.js";
import { button, count, data, h, said, share } from "./dom.js";
import { tried } from "./main.js";
import { nameOf, quotedPath, token } from "./search.js";

const MOST_FIELDS = 300;
const MOST_VALUES = 10;
const MOST_IN_ADDRESS = 200;

/** @typedef {import("./search.js").Field} Field */

/**
 * Ask for the fields of a table.
 * @param {string} name @param {string} at
 * @returns {Promise<{fields: Map<string, Field>, rows: number | null, complete: boolean}>}
 */
export async function fieldsOf(name, at) {
  const answer = await get(`${tablePath(name, at)}/fields`, { limit: 2000 });
  const fields = new Map();
  for (const each of answer.fields) fields.set(nameOf(each.path), { ...each, name: nameOf(each.path) });
  return { fields, rows: answer.rows, complete: answer.complete && !answer.next };
}

/**
 * Show fields; what is frequent in one is asked when it is opened.
 * @param {HTMLElement} place
 * @param {{fields: Map<string, Field>, rows: number | null, complete: boolean}} known
 * @param {{ask: (field: string) => Promise<any>, add: (token: string) => void, values: Map<string, unknown[]>, open: Set<string>}} how
 */
export function showFields(place, known, how) {
  const all = [...known.fields.values()].filter(({ path }) => !path.includes(null));
  const wanted = h("input", { type: "search", placeholder: "Name of a field", "aria-label": "Name of a field" });
  const list = h("ul", { class: "fields" });
  const fill = () => {
    const found = all.filter(({ name }) => name.toLowerCase().includes(wanted.value.toLowerCase()));
    list.replaceChildren(...found.slice(0, MOST_FIELDS).map((field) => line(field, known.rows, how)),
      found.length > MOST_FIELDS ? h("li", {}, `… ${count(found.length - MOST_FIELDS)} more: type a part of a name`) : "");
  };
  wanted.addEventListener("input", fill);
  place.replaceChildren(h("h2", {}, "Fields ", h("small", {}, `${count(all.length)}${known.complete ? "" : ", there may be more"}`)), wanted, list);
  fill();
}

/** @param {Field} field @param {number | null} rows @param {any} how */
function line(field, rows, how) {
  const part = field.rows === null || rows === null ? "" : share(field.rows, rows);
  const details = h("details", {}, h("summary", { title: field.rows === null ? "rows are not counted" : `${count(field.rows)} rows have it` },
    h("bdi", { class: "field" }, field.name.slice(0, 200)), h("small", {}, field.types.join(", ")), h("small", { class: "share" }, part)));
  const open = async () => {
    how.open.add(field.name);
    if (details.children.length > 1) return;
    const place = h("div", { class: "values" }, said("…"));
    details.append(place);
    await tried(place, async () => {
      if (field.types.every((type) => ["struct", "list"].includes(type))) return said("It has no values itself.");
      const answer = await how.ask(quotedPath(field.path));
      how.values.set(field.name, answer.rows.map((/** @type {any} */ row) => row.value));
      return values(field, answer.rows, how.add);
    });
  };
  details.addEventListener("toggle", () => (details.open ? open() : how.open.delete(field.name)));
  if (how.open.has(field.name)) details.open = true;
  return h("li", {}, details);
}

/** @param {Field} field @param {any[]} rows @param {(token: string) => void} add */
function values(field, rows, add) {
  if (!rows.length) return said("No row has a value.");
  const most = Math.max(...rows.map((row) => row.rows));
  return h("ul", {}, rows.slice(0, MOST_VALUES).map(({ value, rows: number }) => {
    const meter = h("meter", { min: 0, max: most, value: number, "aria-hidden": "true" });
    const isLong = String(value).length > MOST_IN_ADDRESS;
    const choice = (/** @type {string} */ text, /** @type {boolean} */ isExcluded, /** @type {string} */ does) => button(text, () => add(token(field.name, value, isExcluded)), {
      disabled: isLong, title: isLong ? "it is too long for an address" : does, "aria-label": `${does} ${field.name} ${String(value).slice(0, 80)}` });
    return h("li", {}, h("span", { class: "value" }, value === "" ? h("i", {}, "empty text") : data(value, 60)), h("small", {}, count(number)),
      choice("+", false, "Only"), choice("−", true, "Without"), meter);
  }));
}
