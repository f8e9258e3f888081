// The screen of SQL: an editor, rows as a grid and a picture, and the query for other programs.

import { get, url } from "./api.js";
import { complete } from "./complete.js";
import { blocksRead, button, counted, h, said } from "./dom.js";
import { fieldsOf } from "./fields.js";
import { chart, grid } from "./grid.js";
import { FUNCTIONS, KEYWORDS, colored } from "./highlight.js";
import { remember, tried } from "./main.js";

const MEMBERS = ["sql", "at", "since", "until", "time_field"];
const LABELS = { at: "As of a version", since: "Since", until: "Until", time_field: "Field of times" };
const FORMATS = [["csv", "CSV for spreadsheets"], ["ndjson", "JSON lines"], ["parquet", "Parquet"], ["arrow", "Arrow"]];
const NAMED = /\b(?:FROM|JOIN)\s+((?:"(?:[^"\\]|\\.)*"|\w+)\.(?:"(?:[^"\\]|\\.)*"|\w+))/gi;

/** @param {HTMLElement} main */
export async function show(main) {
  const box = h("textarea", { "aria-label": "Query", rows: 7, "data-search": true, placeholder: "SELECT type, COUNT(*) AS n FROM web.gha GROUP BY type ORDER BY n DESC", spellcheck: "false" });
  const now = () => new URLSearchParams(location.search);
  box.value = now().get("sql") ?? "";
  const run = h("button", { class: "first", title: "Ctrl+Enter" }, "Run");
  const stop = button("Stop", () => {
    asking.abort();
    answer.replaceChildren(said("It was stopped."));
  }, { hidden: true });
  const more = Object.entries(LABELS).map(([name, label]) => h("label", {}, `${label} `, h("input", { name, value: now().get(name) ?? "", size: 12 })));
  const isMore = more.some((label) => label.lastElementChild.value);
  const tools = h("div", { class: "bar-of-tools" }, run, stop, h("details", { class: "more-members", open: isMore }, h("summary", {}, "Version and times"), more));
  const editor = colored(box);
  const form = h("form", {}, editor, tools);
  const answer = h("section", { "aria-label": "Answer", "aria-live": "polite" });
  main.append(form, answer);
  /** @type {AbortController} */
  let asking = new AbortController();

  /** @returns {Record<string, string>} */
  const members = () => ({ sql: box.value.trim(), ...Object.fromEntries(more.map((label) => [label.lastElementChild.name, label.lastElementChild.value.trim()])) });

  async function ask() {
    asking.abort();
    asking = new AbortController();
    const { signal } = asking;
    const asked = members();
    if (!asked.sql) return;
    stop.hidden = false;
    answer.replaceChildren(said("Asking."));
    await tried(answer, async () => shownAnswer(await get("/v1/query", { ...asked, format: "json" }, signal), asked));
    if (asking.signal === signal) stop.hidden = true;
  }

  form.addEventListener("submit", (/** @type {Event} */ event) => {
    event.preventDefault();
    remember(members(), true);
    ask();
  });
  box.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  addEventListener("popstate", () => {
    box.value = now().get("sql") ?? "";
    box.dispatchEvent(new Event("input"));
    for (const label of more) label.lastElementChild.value = now().get(label.lastElementChild.name) ?? "";
    ask();
  });
  completeSql(box);
  await ask();
}

/** @param {any} found @param {Record<string, string>} asked */
function shownAnswer(found, asked) {
  const rows = `${counted(found.row_count, "row")}${found.truncated ? ", and there are more: a download has all" : ""}`;
  const picture = chart(found.columns, found.rows);
  return [
    h("p", { class: "note read", role: "status" }, `${rows}. Read: ${blocksRead(found.told)}. ${found.told.versions}`),
    ...[...found.warnings, ...found.notes].map((/** @type {string} */ line) => said(line, "warning")),
    picture ?? "", found.rows.length ? grid(found.columns, found.rows) : "", takenAway(asked, found.told.etag),
  ].filter(Boolean);
}

/** Downloads, the link for caches, and the query in other languages. @param {Record<string, string>} asked @param {string} etag */
function takenAway(asked, etag) {
  const link = (/** @type {string} */ format) => url("/v1/query", { ...asked, format });
  const downloads = FORMATS.map(([format, title]) => h("li", {}, h("a", { href: link(format), download: `answer.${format}` }, title)));
  const kept = etag ? "caches may keep it, and ask each time whether it has changed" : "it has no tag, so caches do not keep it";
  return h("section", { class: "away" }, h("h2", {}, "Take it away"), h("ul", { class: "downloads" }, downloads),
    h("p", {}, h("a", { href: link("json") }, "Address of this answer"), h("small", {}, ` ${kept}`)),
    Object.entries(copies(asked)).map(([name, text]) => {
      const pre = h("pre", {});
      pre.textContent = text;
      const copy = button("Copy", () => navigator.clipboard?.writeText(text).then(() => { copy.textContent = "Copied"; }, () => getSelection()?.selectAllChildren(pre)));
      return h("details", {}, h("summary", {}, name), pre, copy);
    }));
}

/** @param {string} text */
function shell(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** The query for other programs. @param {Record<string, string>} asked @returns {Record<string, string>} */
export function copies(asked) {
  const members = Object.entries(asked).filter(([, value]) => value);
  const options = members.filter(([name]) => name !== "sql").map(([name, value]) => `--${name.replace("_", "-")} ${shell(value)} `).join("");
  const curl = members.map(([name, value]) => `  --data-urlencode ${shell(`${name}=${value}`)}`);
  const python = members.filter(([name]) => name !== "sql").map(([name, value]) => `, ${name}=${JSON.stringify(value)}`).join("");
  return {
    curl: [`curl -G ${shell(`${location.origin}/v1/query`)}`, "  -H \"Authorization: Bearer $SDB_TOKEN\"", ...curl].join(" \\\n"),
    "Command line": `sdb query --root ${shell(location.origin)} ${options}${shell(asked.sql)}`,
    Python: `import sdb\n\ndb = sdb.connect(${JSON.stringify(location.origin)})\nfor row in db.sql(${JSON.stringify(asked.sql)}${python}):\n    print(row)\n`,
  };
}

/** @param {HTMLTextAreaElement} box */
function completeSql(box) {
  /** @type {string[]} */
  let tables = [];
  /** @type {Map<string, string[]>} */
  const fields = new Map();
  get("/v1/tables", { limit: 1000 }).then((answer) => { tables = answer.tables.map((/** @type {any} */ table) => table.name); }, () => {});
  const learn = () => {
    for (const [, name] of box.value.matchAll(NAMED)) {
      const plain = name.replace(/"/g, "");
      if (fields.has(plain) || !tables.includes(plain)) continue;
      fields.set(plain, []);
      fieldsOf(plain, "").then((known) => fields.set(plain, [...known.fields.keys()].filter((each) => /^[\w.]+$/.test(each))), () => {});
    }
  };
  box.addEventListener("input", learn);
  complete(box, (before) => {
    const from = before.search(/[\w.@]*$/);
    const typed = before.slice(from).toLowerCase();
    if (!typed) return { from, items: [] };
    const words = [...[...fields.values()].flat(), ...tables, ...KEYWORDS, ...FUNCTIONS.map((name) => `${name}(`)];
    return { from, items: [...new Set(words)].filter((word) => word.toLowerCase().startsWith(typed)) };
  });
}
