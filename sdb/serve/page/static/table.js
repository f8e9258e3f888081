// The screen of a table: histogram, fields, rows, live tail. The address is the whole state.

import { get, rows, tablePath, url } from "./api.js";
import { complete } from "./complete.js";
import { blocksRead, button, counted, h, later, said, unfolding } from "./dom.js";
import { fieldsOf, showFields } from "./fields.js";
import { histogram, legend } from "./histogram.js";
import { preview, tree } from "./json.js";
import { page, remember, tried } from "./main.js";
import { condition, quotedPath, quotedTable } from "./search.js";
import { tabs } from "./tabs.js";
import { follow } from "./tail.js";
import { time, utc } from "./times.js";

const ROWS = 50;
const MEMBERS = ["at", "since", "until", "q", "by", "time", "tail"];

/** @typedef {Record<"at" | "since" | "until" | "q" | "by" | "time" | "tail", string>} State */

/** @returns {State} */
function stateNow() {
  const members = new URLSearchParams(location.search);
  return /** @type {State} */ (Object.fromEntries(MEMBERS.map((name) => [name, members.get(name) ?? ""])));
}

/** @param {HTMLElement} main */
export async function show(main) {
  const screen = new TableScreen(main);
  addEventListener("popstate", () => screen.load());
  await screen.load();
}

class TableScreen {
  /** @param {HTMLElement} main */
  constructor(main) {
    this.state = stateNow();
    this.values = new Map();
    this.open = new Set();
    this.stop = new AbortController();
    /** @type {(() => void) | null} */
    this.endTail = null;
    this.box = h("input", { type: "search", "data-search": true, "aria-label": "Search: words, field:value, or a condition of SQL", placeholder: "Search: words, field:value, or a condition of SQL" });
    this.by = h("select", { "aria-label": "Split by a field" });
    this.time = h("select", { "aria-label": "Field of times" });
    this.tail = button("Live tail", () => this.go({ tail: this.state.tail ? "" : "1" }), { "aria-pressed": "false" });
    this.means = h("p", { class: "note means" });
    this.range = h("p", { class: "note range", role: "status" });
    this.chart = h("div", { class: "chart" });
    this.legend = h("div");
    this.read = h("p", { class: "note read", role: "status" });
    this.fields = h("section", { class: "side", "aria-label": "Fields" });
    this.rows = h("section", { class: "rows", "aria-label": "Rows, the newest first" });
    const form = h("form", { role: "search", class: "bar-of-tools" }, h("span", { class: "combo" }, this.box), h("button", { class: "first" }, "Search"),
      h("label", {}, "Split by ", this.by), h("label", {}, "Time ", this.time), this.tail);
    main.append(tabs("rows"), form, this.means, this.range, this.chart, this.legend, this.read, h("div", { class: "beside" }, this.fields, this.rows));
    form.addEventListener("submit", (/** @type {Event} */ event) => {
      event.preventDefault();
      this.go({ q: this.box.value.trim() });
    });
    this.by.addEventListener("change", () => this.go({ by: this.by.value }));
    this.time.addEventListener("change", () => this.go({ time: this.time.value, since: "", until: "" }));
    complete(this.box, (before) => this.suggest(before));
  }

  /** @param {Partial<State>} members */
  go(members) {
    remember(members, true);
    this.load();
  }

  /** Show what the address says. */
  async load() {
    this.stop.abort();
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.state = stateNow();
    this.endTail?.();
    this.endTail = null;
    this.box.value = this.state.q;
    await tried(this.rows, async () => {
      const { at, q, by, time: field } = this.state;
      if (this.knownAt !== at) this.facts = await get(this.path, {}, signal);
      const learning = this.knownAt === at ? null : this.learn(at, signal);
      learning?.catch(() => {});  // said where it is awaited
      // All fields of a large table take longer than its first picture, which needs none of them.
      if (q || by || field) await learning;
      if (signal.aborted) return;
      const found = condition(q, this.known?.fields ?? new Map());
      this.where = found.sql;
      this.means.replaceChildren(...(found.sql ? ["Rows for which ", h("code", {}, found.sql.slice(0, 2000)), found.note ? `; ${found.note}` : ""] : []));
      this.tail.setAttribute("aria-pressed", String(Boolean(this.state.tail)));
      await Promise.all([tried(this.range, () => this.loadChart(signal)), tried(this.rows, () => this.loadRows(signal)),
        tried(this.fields, async () => { await learning; this.loadFields(); })]);
      if (this.state.tail && !signal.aborted) this.startTail();
    });
  }

  /** @param {string} at @param {AbortSignal} signal */
  async learn(at, signal) {
    const known = await fieldsOf(page.table, at);
    signal.throwIfAborted();
    [this.known, this.knownAt] = [known, at];
    this.fillChoices();
  }

  get path() {
    return tablePath(page.table, this.state.at);
  }

  /** Where the time of a row is, by its parts. */
  get timePath() {
    return this.state.time ? this.known.fields.get(this.state.time)?.path ?? null : this.facts.time;
  }

  fillChoices() {
    const fields = [...this.known.fields.values()].filter(({ path }) => !path.includes(null));
    const plain = fields.filter(({ types }) => types.some((/** @type {string} */ type) => !["struct", "list", "timestamp"].includes(type)));
    const option = (/** @type {string} */ name, /** @type {string} */ now) => h("option", { value: name, selected: name === now }, name);
    this.by.replaceChildren(h("option", { value: "" }, "nothing"), ...plain.slice(0, 500).map(({ name }) => option(name, this.state.by)));
    const times = fields.filter(({ types }) => types.includes("timestamp"));
    const own = this.facts.time?.join(".");
    this.time.replaceChildren(h("option", { value: "" }, own ?? "no obvious one"), ...times.filter(({ name }) => name !== own).map(({ name }) => option(name, this.state.time)));
  }

  get period() {
    return { since: this.state.since, until: this.state.until, time_field: this.state.time };
  }

  /** @param {AbortSignal} signal */
  async loadChart(signal) {
    this.chart.hidden = !this.timePath;
    this.legend.replaceChildren();
    if (!this.timePath) return this.facts.rows === 0 ? "The table has no rows." : "No field is obviously the time of a row: choose one above.";
    const path = this.state.by && this.known.fields.get(this.state.by)?.path;
    const found = await histogram(this.chart, this.path, { period: this.period, members: { where: this.where, by: path ? quotedPath(path) : "" }, signal,
      zoom: (a, b) => this.zoom(a, b), begun: (from, until) => this.range.replaceChildren(...this.rangeText(from, until, "bounds from the index; counting")) });
    if (!found) return undefined;
    const cut = found.isCut ? "; not all, since the answer has a maximum of rows: zoom in, or split by a field with fewer values" : "";
    if (path) this.legend.replaceChildren(legend(found.order, found.totals));
    return this.rangeText(found.from, found.until, `${counted(found.total, "row")}${cut}`);
  }

  /** @param {number} from @param {number} until @param {string} text */
  rangeText(from, until, text) {
    const wider = this.state.since || this.state.until ? [button("Zoom out", () => this.zoom(from - (until - from) / 2, until + (until - from) / 2)),
      button("All", () => this.go({ since: "", until: "" }))] : [];
    return [time(from), " to ", time(until), `: ${text} `, ...wider];
  }

  /** @param {number} from @param {number} until */
  zoom(from, until) {
    const [a, b] = [Math.floor(from), Math.max(Math.ceil(until), Math.floor(from) + 1000)];
    this.go({ since: utc(a), until: utc(b) });
  }

  /** The query of the rows. */
  get sql() {
    const where = this.where ? ` WHERE ${this.where}` : "";
    const order = this.timePath ? ` ORDER BY ${quotedPath(this.timePath)} DESC` : "";
    return `SELECT * FROM ${quotedTable(this.facts)}${where}${order}`;
  }

  /** @param {AbortSignal} signal @param {number} [offset] @param {string} [at] the version of the first ones */
  async loadRows(signal, offset = 0, at = this.state.at) {
    const { since, until } = this.state;
    const period = { since, until, time_field: since || until ? this.state.time : "" };
    const list = offset ? this.rows.querySelector("ol") : h("ol", { class: "found" });
    if (!offset) this.rows.setAttribute("aria-busy", "true");
    const sql = `${this.sql} LIMIT ${ROWS}${offset ? ` OFFSET ${offset}` : ""}`;
    const answer = await rows({ sql, at, ...period }, signal);
    list.append(...answer.rows.map((row) => this.row(row)));
    this.rows.removeAttribute("aria-busy");
    this.showRead(answer);
    const version = /@(\S+)$/.exec(answer.told.versions)?.[1] ?? at;
    const more = button("More", () => {
      more.remove();
      tried(this.rows.appendChild(h("div")), () => this.loadRows(this.stop.signal, offset + ROWS, version));
    });
    const end = answer.isCut ? said(`The rows are large: ${counted(answer.rows.length, "row")} of ${ROWS} are shown. A query that names fields shows more.`)
      : answer.rows.length === ROWS ? more : "";
    const head = h("h2", {}, "Rows ", h("small", {}, this.timePath ? "the newest first" : "in the order of the table"), " ", h("a", { href: url("/sql", { sql: `${this.sql} LIMIT ${ROWS}`, at: this.state.at, ...period }) }, "as SQL"));
    if (offset) this.rows.append(end);
    else this.rows.replaceChildren(head, answer.rows.length || answer.isCut ? list : said("No row is so."), end);
  }

  /** @param {{rows: any[], told: import("./api.js").Told}} answer */
  showRead({ told: about }) {
    this.read.replaceChildren(`Read for the rows: ${blocksRead(about)}. Version ${about.versions.replace(/^.*@/, "")}.`,
      ...about.said.map((line) => said(line, "warning")));
  }

  /** @param {any} row */
  row(row) {
    const at = (this.timePath ?? []).reduce((/** @type {any} */ value, /** @type {string} */ part) => value?.[part], row);
    return h("li", {}, unfolding(h("summary", { "data-line": true }, at === undefined || !this.timePath ? "" : time(at), " ", h("span", { class: "preview" }, preview(row))), () => tree(row)));
  }

  loadFields() {
    const ask = (/** @type {string} */ field) => get(`${this.path}/facets`, { ...this.period, where: this.where, fields: field, limit: 10, format: "json" }, this.stop.signal);
    const add = (/** @type {string} */ token) => this.go({ q: `${this.state.q} ${token}`.trim() });
    if (!this.open.size && !this.hasOpened) {
      this.hasOpened = true;
      const first = [...this.known.fields.values()].find(({ types, path }) => !path.includes(null) && types.includes("string") && !/id$/i.test(path.at(-1) ?? ""));
      if (first) this.open.add(first.name);
    }
    showFields(this.fields, this.known, { ask, add, values: this.values, open: this.open });
  }

  startTail() {
    const list = this.rows.querySelector("ol") ?? h("ol", { class: "found" });
    if (!list.isConnected) this.rows.append(list);
    const status = said("Waiting for rows.");
    this.rows.prepend(status);
    const again = later(() => tried(this.range, () => this.loadChart(this.stop.signal)), 1000);
    this.endTail = follow(url(`${tablePath(page.table)}/tail`, { where: this.where }), {
      row: (row) => this.row(row), list, status, committed: again });
  }

  /** @param {string} before */
  suggest(before) {
    const from = before.search(/\S*$/);
    const typed = before.slice(from).replace(/^-/, "");
    const start = before.length - typed.length;
    const fields = [...(this.known?.fields.values() ?? [])].filter(({ path }) => !path.includes(null));
    const colon = typed.indexOf(":");
    if (colon > 0) {
      const name = typed.slice(0, colon);
      const wanted = typed.slice(colon + 1).replace(/^"/, "").toLowerCase();
      const values = (this.values.get(name) ?? []).filter((/** @type {any} */ value) => String(value).length < 200 && String(value).toLowerCase().includes(wanted));
      return { from: start + colon + 1, items: values.map((/** @type {any} */ value) => (typeof value === "string" ? JSON.stringify(value) : String(value))) };
    }
    if (!typed) return { from: start, items: [] };
    const found = fields.filter(({ name }) => name.toLowerCase().includes(typed.toLowerCase()) && /^[^\s":]+$/.test(name));
    return { from: start, items: found.map(({ name }) => `${name}:`) };
  }
}
