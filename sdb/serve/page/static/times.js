// Times: in the zone of the reader, with UTC beside.

import { h } from "./dom.js";

const LOCAL = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "medium" });
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone || "local time";
const MINUTE = 60e3;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
export const STEPS = [
  1e3, 2e3, 5e3, 10e3, 15e3, 30e3, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE,
  HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 28 * DAY, 91 * DAY, 182 * DAY, 364 * DAY,
];

/** @param {number} ms */
export function utc(ms) {
  return new Date(ms).toISOString().replace(".000Z", "Z");
}

/** Whether the zone of the reader is UTC at a time. @param {number} ms */
function isUtc(ms) {
  return new Date(ms).getTimezoneOffset() === 0;
}

/** @param {number} ms */
export function local(ms) {
  return LOCAL.format(ms);
}

/** A time for reading, with UTC beside where that is another one. @param {string | number | null | undefined} value */
export function time(value) {
  const ms = typeof value === "number" ? value : Date.parse(value ?? "");
  if (Number.isNaN(ms)) return h("span", {}, value ?? "");
  const text = utc(ms);
  if (isUtc(ms)) return h("time", { datetime: text }, text.replace("T", " ").replace("Z", " UTC"));
  const beside = local(ms).slice(0, 10) === text.slice(0, 10) ? text.slice(11) : text;
  return h("time", { datetime: text, title: `${ZONE}; UTC: ${text}` }, local(ms), h("small", {}, ` ${beside}`));
}

/** @param {string | null | undefined} value @param {number} [now] */
export function age(value, now = Date.now()) {
  const ms = now - Date.parse(value ?? "");
  if (Number.isNaN(ms)) return "never";
  return ms < 0 ? "just now" : `${duration(ms)} ago`;
}

/** @param {number} ms */
export function duration(ms) {
  /** @type {[number, string][]} */
  const units = [[365 * DAY, "year"], [DAY, "day"], [HOUR, "hour"], [MINUTE, "minute"], [1e3, "second"]];
  for (const [unit, name] of units) {
    if (ms >= 2 * unit || (ms >= unit && name !== "year")) {
      const number = Math.floor(ms / unit);
      return `${number} ${name}${number === 1 ? "" : "s"}`;
    }
  }
  return "a moment";
}

/** A round width of buckets, so that about `wanted` of them fill a range. @param {number} range in milliseconds @param {number} wanted */
export function step(range, wanted) {
  const least = range / wanted;
  return STEPS.find((each) => each >= least) ?? Math.ceil(least / (364 * DAY)) * 364 * DAY;
}

/**
 * Round times between two, in the zone of the reader, with short labels.
 * @param {number} from @param {number} until @param {number} most
 * @returns {{at: number, label: string}[]}
 */
export function ticks(from, until, most) {
  const width = step(until - from, most);
  const found = [];
  const offset = new Date(from).getTimezoneOffset() * MINUTE;
  for (let at = Math.ceil((from - offset) / width) * width + offset; at <= until; at += width) {
    const text = local(at);
    const [day, clock] = [text.slice(5, 10), text.slice(11)];
    const label = width >= DAY ? (width >= 91 * DAY ? text.slice(0, 7) : day) : width >= MINUTE ? clock.slice(0, 5) : clock;
    found.push({ at, label: width < DAY && clock === "00:00:00" ? day : label });
  }
  return found;
}
