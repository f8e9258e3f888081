// The screen of all tables.

import { each, get, rows, tablePath, url } from "./api.js";
import { sparkline } from "./charts.js";
import { count, counted, data, h, later, said, share, size } from "./dom.js";
import { remember, tried } from "./main.js";
import { quotedTable } from "./search.js";
import { age, time } from "./times.js";

const COMMITS = 40;
const SAMPLE = 100;
const COLUMNS = ["Table", "Rows", "On disk", "As text", "Times covered", "Last commit", "Rows a commit"];

/** @param {HTMLElement} main */
export async function show(main) {
  const wanted = new URLSearchParams(location.search).get("q") ?? "";
  const box = h("input", { type: "search", value: wanted, placeholder: "Name of a table", "aria-label": "Name of a table", "data-search": true });
  const list = h("div", { class: "wide" });
  main.append(h("div", { class: "bar-of-tools" }, box), list);
  box.addEventListener("input", later(() => {
    remember({ q: box.value });
    fill(list, box.value);
  }, 200));
  await fill(list, wanted);
}

let asking = new AbortController();

/** @param {HTMLElement} list @param {string} q */
async function fill(list, q) {
  asking.abort();
  asking = new AbortController();
  await tried(list, async () => {
    const { signal } = asking;
    const [{ tables, next }, { views }] = await Promise.all([get("/v1/tables", { q, limit: 500 }, signal), get("/v1/views", { q }, signal)]);
    if (!tables.length && !views.length) return said(q ? `No table has ${q} in its name.` : "There is no table that you may read. sdb create makes one.");
    const lines = tables.map(line);
    watch(lines);
    return [h("table", { class: "tables" }, h("caption", {}, counted(tables.length, "table"), next ? ", and there are more: type a part of a name" : ""),
      h("thead", {}, h("tr", {}, COLUMNS.map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, lines.map((/** @type {Line} */ each) => each.element))),
    views.length ? listedViews(views) : ""];
  });
}

/** @typedef {{element: HTMLElement, table: any, cells: HTMLElement[]}} Line */

/** @param {any} table @returns {Line} */
function line(table) {
  const link = h("a", { href: `/tables/${encodeURIComponent(table.name)}` }, h("bdi", {}, table.name));
  const about = [table.description, table.steward && `steward: ${table.steward}`].filter(Boolean).join("; ");
  const name = h("th", { scope: "row" }, link, about ? h("div", { class: "about" }, data(about, 120)) : "");
  if (table.error) return { table, cells: [], element: h("tr", {}, name, h("td", { colspan: COLUMNS.length - 1, class: "problem" }, table.error)) };
  const cells = Array.from({ length: 3 }, () => h("td", {}, "…"));
  const [text, times, commits] = cells;
  text.className = "n";
  const element = h("tr", {}, name, h("td", { class: "n" }, count(table.rows)), h("td", { class: "n" }, size(table.size_bytes)),
    text, times, h("td", {}, h("span", { title: table.synced_at ?? "" }, age(table.synced_at))), commits);
  return { table, cells, element };
}

/** Ask for more of the tables that are seen. @param {Line[]} lines */
function watch(lines) {
  const byElement = new Map(lines.map((each) => [each.element, each]));
  const seen = new IntersectionObserver((entries) => {
    const now = entries.filter((entry) => entry.isIntersecting).map((entry) => entry.target);
    for (const element of now) seen.unobserve(element);
    each(now.map((element) => /** @type {Line} */ (byElement.get(/** @type {HTMLElement} */ (element)))), complete);
  });
  for (const { element, cells } of lines) if (cells.length) seen.observe(element);
}

/** @param {Line} line */
async function complete({ table, cells: [text, times, commits] }) {
  const path = tablePath(table.name);
  await tried(commits, async () => {
    const { versions } = await get(`${path}/versions`, { limit: COMMITS });
    const added = versions.map((/** @type {any} */ each) => each.changes?.rows_added ?? 0).reverse();
    return sparkline(added, `Rows that the last ${counted(added.length, "commit")} added: at most ${count(Math.max(0, ...added))}`);
  });
  await tried(times, async () => {
    if (!table.newest_path || !table.newest_at) return "no times";
    const { since } = await get(`${path}/timeline`, { buckets: 1 });
    return Date.parse(since) === Date.parse(table.newest_at) ? time(since) : h("span", { class: "span" }, time(since), h("span", {}, " to "), time(table.newest_at));
  });
  await tried(text, async () => {
    if (!table.rows) return "";
    const sample = await rows({ sql: `SELECT * FROM ${quotedTable(table)} LIMIT ${SAMPLE}` }, undefined, 1 << 20);
    if (!sample.rows.length) return "a row is too large to tell";
    const bytes = (sample.bytes / sample.rows.length) * table.rows;
    const isAll = sample.rows.length === table.rows;
    const title = `JSON, ${isAll ? "all rows" : `by the first ${sample.rows.length}`}; on the disk ${share(table.size_bytes, bytes)} of it`;
    return h("span", { title }, isAll ? "" : "≈ ", size(bytes), h("small", {}, ` ${(bytes / table.size_bytes).toFixed(1)}×`));
  });
}

/** @param {any[]} views */
function listedViews(views) {
  return h("section", {}, h("h2", {}, "Views"), h("ul", { class: "views" }, views.map((view) => {
    const sql = `SELECT * FROM ${view.name} LIMIT 100`;
    return h("li", {}, h("a", { href: url("/sql", { sql }) }, h("bdi", {}, view.name)));
  })));
}
