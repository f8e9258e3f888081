// Time travel: a histogram of any version, the graph of branches, differences, restore.

import { change, get, tablePath } from "./api.js";
import { button, count, counted, dialog, facts, h, said, size } from "./dom.js";
import { lanesOf, laneCell } from "./graph.js";
import { histogram } from "./histogram.js";
import { preview } from "./json.js";
import { page, remember, tried } from "./main.js";
import { tabs } from "./tabs.js";
import { age, time } from "./times.js";

const PAGE = 100;
const MOST_BRANCHES = 12;
const MOST_ROWS = 50;
const PAUSE = 400;  // ms without another version, before rows are counted

/** @typedef {import("./graph.js").Version} Version */

/** @param {HTMLElement} main */
export async function show(main) {
  const screen = new Versions(main);
  addEventListener("popstate", () => screen.shown());
  await screen.load();
}

class Versions {
  /** @param {HTMLElement} main */
  constructor(main) {
    this.limit = PAGE;
    this.path = tablePath(page.table);
    this.stop = new AbortController();
    /** @type {Version[]} the newest first */
    this.versions = [];
    this.slider = h("input", { type: "range", min: 0, "aria-label": "Version" });
    this.told = h("p", { class: "note", role: "status" });
    this.chart = h("div", { class: "chart" });
    this.difference = h("section", { "aria-label": "Difference" });
    this.list = h("section", { "aria-label": "Versions, the newest first" });
    main.append(tabs("versions"), h("div", { class: "travel" }, this.slider, this.told), this.chart, this.difference, this.list);
    this.slider.addEventListener("input", () => this.look(this.versions[this.versions.length - 1 - Number(this.slider.value)]));
  }

  async load() {
    await tried(this.list, async () => {
      const [table, { branches }, { tags }] = await Promise.all([get(this.path), get(`${this.path}/branches`), get(`${this.path}/tags`)]);
      this.etag = table.told.etag;
      /** @type {string[]} */
      const names = branches.map((/** @type {any} */ branch) => branch.name);
      const asked = names.sort((a, b) => Number(b === "main") - Number(a === "main")).slice(0, MOST_BRANCHES);
      const logs = await Promise.all(asked.map((name) => get(`${tablePath(page.table, name === "main" ? "" : name)}/versions`, { limit: this.limit })));
      this.lanes = lanesOf(asked, logs.map((log) => log.versions));
      this.versions = this.lanes.versions;
      this.tags = new Map();
      for (const tag of tags) this.tags.set(tag.version, [...(this.tags.get(tag.version) ?? []), tag.name]);
      this.fill(names.length - asked.length, logs.some((log) => log.next), branches);
      this.slider.max = String(Math.max(0, this.versions.length - 1));
      // The times of the newest version, so that older ones are drawn beside them.
      this.range = await get(`${this.path}/timeline`, { buckets: 1 }).catch(() => null);
      await this.shown();
    });
  }

  /** Show what the address says. */
  async shown() {
    const members = new URLSearchParams(location.search);
    const at = members.get("at") ?? "";
    const version = this.versions.find((each) => each.ref === at) ?? this.versions.find(({ lane }) => lane === 0);
    const compared = this.compare(members.get("from") ?? "", members.get("to") ?? "");
    if (version) await this.look(version, false);
    await compared;
  }

  /** @param {Version} version @param {boolean} [isNew] */
  async look(version, isNew = true) {
    this.stop.abort();
    this.stop = new AbortController();
    this.slider.value = String(this.versions.length - 1 - this.versions.indexOf(version));
    this.slider.setAttribute("aria-valuetext", `version ${version.ref}, ${version.at}`);
    if (isNew) remember({ at: version.ref });
    for (const line of this.list.querySelectorAll("li")) line.toggleAttribute("data-now", line.dataset.ref === version.ref);
    const href = `/tables/${encodeURIComponent(page.table)}?at=${encodeURIComponent(version.ref)}`;
    this.told.replaceChildren(`Version ${version.ref}, `, time(version.at), `: ${counted(version.rows ?? 0, "row")}, ${size(version.bytes)}. `, h("a", { href }, "Its rows"));
    this.chart.hidden = !this.range;
    if (!this.range) return;
    const { signal } = this.stop;
    const { since, until } = this.range;
    await tried(this.chart, async () => void await histogram(this.chart, tablePath(page.table, version.ref), { period: { since, until }, pause: PAUSE, signal }));
  }

  /** @param {number} leftOut @param {boolean} hasMore @param {any[]} branches */
  fill(leftOut, hasMore, branches) {
    const most = Math.max(1, ...this.versions.map(({ changes }) => (changes?.rows_added ?? 0) + (changes?.rows_removed ?? 0)));
    const lines = this.versions.map((version, row) => this.line(version, row, most));
    const more = button("Older versions", () => {
      this.limit *= 10;
      this.load();
    });
    this.list.replaceChildren(h("h2", {}, "Versions ", h("small", {}, `${counted(branches.length, "branch", "branches")}${leftOut ? `, of which ${MOST_BRANCHES} are shown` : ""}; choose two to compare`)),
      h("ul", { class: "versions" }, lines), hasMore ? more : "");
  }

  /** @param {Version} version @param {number} row @param {number} most */
  line(version, row, most) {
    const { changes = {} } = version;
    const pick = button("Compare", () => this.pick(version.ref), { "aria-pressed": "false", "aria-label": `Compare version ${version.ref}` });
    const heads = this.lanes.heads.get(version.id) ?? [];
    const tags = version.lane === 0 ? this.tags.get(version.version) ?? [] : [];
    const restore = page.may_write && !heads.includes("main") ? button("Restore", () => this.restore(version), { "aria-label": `Restore version ${version.ref}` }) : "";
    return h("li", { "data-ref": version.ref }, laneCell(this.lanes, row),
      button(version.ref, () => this.look(version), { class: "number", "data-line": true, "aria-label": `Show version ${version.ref}` }),
      h("span", { class: "what" }, heads.map((name) => h("b", { class: "head" }, name)), tags.map((/** @type {string} */ name) => h("b", { class: "tag" }, name)),
        version.operation, version.author ? h("bdi", {}, ` by ${version.author}`) : "", version.message ? h("bdi", { class: "message" }, ` ${version.message.slice(0, 200)}`) : ""),
      h("span", { title: version.at }, age(version.at)),
      h("span", { class: "delta" }, h("meter", { min: 0, max: most, value: (changes.rows_added ?? 0) + (changes.rows_removed ?? 0), "aria-hidden": "true" }),
        changes.rows_added ? `+${count(changes.rows_added)}` : "", changes.rows_removed ? ` −${count(changes.rows_removed)}` : "", !changes.rows_added && !changes.rows_removed ? "no rows" : ""),
      h("span", { class: "do" }, pick, restore));
  }

  /** @param {string} ref */
  pick(ref) {
    const members = new URLSearchParams(location.search);
    const [from, to] = [members.get("from") ?? "", members.get("to") ?? ""];
    const chosen = from && !to && from !== ref ? { from, to: ref } : { from: ref, to: "" };
    remember(chosen, true);
    this.compare(chosen.from, chosen.to);
  }

  /** @param {string} from @param {string} to */
  async compare(from, to) {
    for (const line of this.list.querySelectorAll("li")) line.querySelector(".do button")?.setAttribute("aria-pressed", String([from, to].includes(line.dataset.ref ?? "")));
    if (!from) return this.difference.replaceChildren();
    if (!to) return this.difference.replaceChildren(said(`Version ${from} is one of them: choose the other.`));
    // The earlier one is on the left, whichever was chosen first.
    const place = (/** @type {string} */ ref) => this.versions.findIndex((version) => version.ref === ref);
    const [a, b] = place(from) >= place(to) ? [from, to] : [to, from];
    const list = h("div");
    await tried(this.difference, async () => {
      const found = await get(`${this.path}/diff`, { from: a, to: b });
      const rows = button("Show rows", () => {
        list.replaceChildren(said("Comparing rows."));
        tried(list, async () => differing(await get(`${this.path}/diff`, { from: a, to: b, rows: true, limit: MOST_ROWS })));
      });
      const close = button("Close", () => {
        remember({ from: "", to: "" }, true);
        this.compare("", "");
      });
      return [h("h2", {}, `Version ${a} to ${b}`), facts([
        ["rows", `+${count(found.rows_added)} −${count(found.rows_removed)}`],
        ["packfiles", `+${count(found.packfiles_added)} −${count(found.packfiles_removed)}, ${count(found.packfiles_same)} the same`],
        ["bytes", `+${size(found.bytes_added)} −${size(found.bytes_removed)}`],
      ]), h("p", {}, rows, " ", close), list];
    });
  }

  /** @param {Version} version */
  async restore(version) {
    const answer = await dialog(`Restore version ${version.ref}?`,
      h("p", {}, `The table gets a new version with the ${counted(version.rows ?? 0, "row")} of version ${version.ref}. The versions in between stay.`),
      h("form", { method: "dialog", class: "bar-of-tools" }, h("button", { class: "first", value: "yes" }, "Restore"), h("button", { value: "" }, "Cancel")));
    if (answer !== "yes") return;
    await tried(this.difference, async () => {
      await change("POST", `${this.path}/restore`, { at: version.ref }, { "if-match": this.etag });
      remember({ at: "", from: "", to: "" });
      await this.load();
    });
  }
}

/** @param {any} answer */
function differing({ differing: rows, truncated }) {
  const words = /** @type {Record<string, string>} */ ({ "+": "added", "-": "removed", "~": "changed" });
  return h("div", {}, h("ul", { class: "found" }, rows.map((/** @type {any} */ row) => h("li", { class: "differs" },
    h("b", { title: words[row.sign], "aria-label": words[row.sign] }, row.sign), " ", h("span", { class: "preview" }, preview(row.row ?? row))))),
  rows.length ? "" : said("No row differs."), truncated ? said(`These are the first ${MOST_ROWS}.`) : "");
}
