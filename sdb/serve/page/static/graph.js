// The graph of versions: a lane for each branch, beside the lines of a list.

import { h, s } from "./dom.js";

const [STEP, HEIGHT] = [16, 44];

/**
 * @typedef {{version: number, id: string, at: string, ref: string, lane: number, operation: string, author: string, message: string,
 *   rows: number | null, bytes: number | null, parents: number[], changes: any}} Version
 * @typedef {{versions: Version[], heads: Map<string, string[]>, links: {upper: number, lower: number, lane: number, from: number, to: number}[], count: number}} Lanes
 * A link joins two lines of the list: it leaves the lane `from` at the lower one, and comes to `to` at the upper one, along `lane`.
 */

/** Put the logs of branches together: what they share is in the lane of the first. @param {string[]} names @param {any[][]} logs @returns {Lanes} */
export function lanesOf(names, logs) {
  /** @type {Map<string, Version>} */
  const byId = new Map();
  /** @type {Map<string, string[]>} */
  const heads = new Map();
  logs.forEach((log, lane) => log.forEach((each, at) => {
    if (at === 0) heads.set(each.id, [...(heads.get(each.id) ?? []), names[lane]]);
    if (!byId.has(each.id)) byId.set(each.id, { ...each, lane, ref: names[lane] === "main" ? String(each.version) : `${names[lane]}@${each.version}` });
  }));
  const versions = [...byId.values()].sort((a, b) => Date.parse(b.at) - Date.parse(a.at) || b.version - a.version);
  const rowOf = new Map(versions.map((version, row) => [version.id, row]));
  /** @type {Lanes["links"]} */
  const links = [];
  logs.forEach((log, lane) => log.slice(0, -1).forEach((each, at) => {
    const own = /** @type {Version} */ (byId.get(each.id));
    if (own.lane !== lane) return;
    const parent = /** @type {Version} */ (byId.get(log[at + 1].id));
    links.push({ upper: /** @type {number} */ (rowOf.get(own.id)), lower: /** @type {number} */ (rowOf.get(parent.id)), lane: own.lane, from: parent.lane, to: own.lane });
  }));
  versions.forEach((version, row) => {
    const [, merged] = version.parents ?? [];
    if (merged === undefined) return;
    // A number may be that of versions of several branches: the newest before the merge is meant.
    const lower = versions.findIndex((each, at) => at > row && each.lane !== version.lane && each.version === merged);
    if (lower >= 0) links.push({ upper: row, lower, lane: versions[lower].lane, from: versions[lower].lane, to: version.lane });
  });
  return { versions, heads, links, count: logs.length };
}

/** The part of the graph that lies beside a line. @param {Lanes} lanes @param {number} row */
export function laneCell({ versions, links, count }, row) {
  const x = (/** @type {number} */ lane) => STEP / 2 + lane * STEP;
  const [middle, own] = [HEIGHT / 2, versions[row]];
  const lines = links.flatMap(({ upper, lower, lane, from, to }) => {
    if (row < upper || row > lower) return [];
    if (row === upper) return [path(x(to), middle, x(lane), HEIGHT, lane)];
    if (row === lower) return [path(x(lane), 0, x(from), middle, lane)];
    return [path(x(lane), 0, x(lane), HEIGHT, lane)];
  });
  const width = count * STEP;
  // A dot is a line without length, which stays round when the picture is as high as a line is.
  const dot = s("path", { class: `dot l${own.lane % 7}`, d: `M${x(own.lane)} ${middle}h.01` });
  const cell = h("span", { class: "lane" }, s("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" }, lines, dot));
  cell.style.width = `${width}px`;
  return cell;
}

/** @param {number} x1 @param {number} y1 @param {number} x2 @param {number} y2 @param {number} lane */
function path(x1, y1, x2, y2, lane) {
  const middle = (y1 + y2) / 2;
  return s("path", { class: `l${lane % 7}`, d: `M${x1} ${y1}C${x1} ${middle} ${x2} ${middle} ${x2} ${y2}` });
}
