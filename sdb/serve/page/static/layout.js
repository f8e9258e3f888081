// The layout of a table: packfiles over time and by size, what its upkeep would do, what is kept.

import { get, tablePath } from "./api.js";
import { axis, figure, pictureWidth } from "./charts.js";
import { count, counted, facts, h, s, said, size } from "./dom.js";
import { grid } from "./grid.js";
import { page, tried } from "./main.js";
import { tabs } from "./tabs.js";
import { local } from "./times.js";

const MOST = 5000;
const [HEIGHT, LEFT, BAR] = [220, 60, 9];

/** @param {HTMLElement} main */
export async function show(main) {
  const at = new URLSearchParams(location.search).get("at") ?? "";
  const picture = h("section", { "aria-label": "Packfiles over time" }, said("…"));
  const needs = h("section", { "aria-label": "Upkeep" }, said("…"));
  main.append(tabs("layout"), picture, needs);
  await Promise.all([
    tried(picture, async () => drawn(await get(`${tablePath(page.table, at)}/packfiles`, { limit: MOST }))),
    tried(needs, async () => upkeep(await get(`${tablePath(page.table)}/status`))),
  ]);
}

/** @param {any} answer */
function drawn({ packfiles, next, time: path }) {
  if (!packfiles.length) return [said("The table has no packfiles.")];
  const bytes = packfiles.reduce((/** @type {number} */ sum, /** @type {any} */ pack) => sum + pack.bytes, 0);
  const title = `${next ? "The first " : ""}${counted(packfiles.length, "packfile")} of ${size(bytes)}`;
  const dated = packfiles.filter((/** @type {any} */ pack) => pack.first && pack.last);
  const rows = packfiles.map((/** @type {any} */ pack) => ({ packfile: pack.key.split("/").pop(), rows: pack.rows, bytes: pack.bytes, blocks: pack.blocks, first: pack.first, last: pack.last }));
  return [h("h2", {}, title), dated.length ? picture(dated) : said(path ? "No packfile has times." : "No field is obviously the time of a row, so there is no picture."),
    h("details", { class: "packs" }, h("summary", {}, "All as a table"), grid(["packfile", "rows", "bytes", "blocks", "first", "last"], rows))];
}

/** @param {any[]} packs */
function picture(packs) {
  const width = pictureWidth();
  const from = Math.min(...packs.map(({ first }) => Date.parse(first)));
  const until = Math.max(...packs.map(({ last }) => Date.parse(last)));
  const logs = packs.map((pack) => Math.log2(Math.max(pack.bytes, 1)));
  const [low, high] = [Math.floor(Math.min(...logs)), Math.ceil(Math.max(...logs)) + 0.001];
  const x = (/** @type {number} */ at) => LEFT + ((at - from) / (until - from || 1)) * (width - LEFT - 4);
  const y = (/** @type {number} */ log) => HEIGHT - BAR - 4 - ((log - low) / (high - low)) * (HEIGHT - BAR - 12);
  const every = Math.max(1, Math.ceil((high - low) / 5));
  const lines = [];
  for (let log = low; log <= high; log += every) {
    lines.push(s("line", { class: "grid", x1: LEFT, x2: width, y1: y(log) + BAR / 2, y2: y(log) + BAR / 2 }), s("text", { x: LEFT - 6, y: y(log) + BAR, "text-anchor": "end" }, size(2 ** log)));
  }
  const bars = packs.map((pack, at) => {
    const [first, last] = [Date.parse(pack.first), Date.parse(pack.last)];
    return s("rect", { class: "bar pack", x: x(first).toFixed(1), y: y(logs[at]).toFixed(1), height: BAR, rx: 2, width: Math.max(3, x(last) - x(first)).toFixed(1) },
      s("title", {}, `${pack.key.split("/").pop()}\n${counted(pack.rows, "row")}, ${size(pack.bytes)}, ${counted(pack.blocks, "block")}\n${local(first)} to ${local(last)}`));
  });
  const label = `${counted(packs.length, "packfile")} from ${packs[0].first} on; each spans the times of its rows, the largest are on top`;
  return figure("Each spans the times of its rows; higher ones are larger", s("svg", { viewBox: `0 0 ${width} ${HEIGHT + 20}`, role: "img", "aria-label": label },
    lines, axis({ from, until, width, height: HEIGHT, x, left: LEFT }), bars));
}

/** @param {any} status */
function upkeep(status) {
  const policy = status.policy ?? {};
  const kept = [policy.keep_last && `the last ${count(policy.keep_last)}`, policy.keep_for && `those of the last ${policy.keep_for}`, policy.thin && `thinned by age (${policy.thin})`].filter(Boolean).join(", ");
  const kinds = /** @type {[string, string][]} */ ([
    ["versions", count(status.versions)], ["versions kept", kept || "all"], ["on the disk with all versions", size(status.stored_bytes)],
    ["rows kept", typeof status.retention === "string" ? status.retention : status.retention ? JSON.stringify(status.retention) : "all"],
    ["rows past that", count(status.rows_overdue)], ["small packfiles", `${count(status.packfiles_small)} of ${count(status.packfiles)}`],
    ["the most at one moment", counted(status.packfiles_at_a_moment ?? 0, "packfile")],
  ]);
  return [h("h2", {}, "What it needs"),
    status.needs.length ? h("ul", { class: "needs" }, status.needs.map((/** @type {any} */ need) => h("li", {}, `${need.text}: `, h("code", {}, need.command)))) : said("Nothing: it is well."),
    h("h2", {}, "What it keeps"), facts(kinds),
    ...status.notes.map((/** @type {string} */ note) => said(note))];
}
