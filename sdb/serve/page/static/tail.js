// Rows as they come: each is an event of the server.

import { get, parse } from "./api.js";
import { counted } from "./dom.js";

const MOST_SHOWN = 500;

/**
 * Show rows as they come, above those that are there.
 * @param {string} path
 * @param {{row: (row: any) => HTMLElement, list: HTMLElement, status: HTMLElement, committed: () => void}} how
 * @returns {() => void} ends it
 */
export function follow(path, { row, list, status, committed }) {
  const source = new EventSource(path);
  let seen = 0;
  const say = (/** @type {string} */ text) => {
    status.textContent = `Live: ${text}`;
  };
  source.onopen = () => say(`${counted(seen, "row")} so far`);
  source.onmessage = (event) => {
    seen += 1;
    list.prepend(row(parse(event.data)));
    while (list.children.length > MOST_SHOWN) list.lastElementChild?.remove();
    say(`${counted(seen, "row")} so far`);
  };
  source.addEventListener("end", committed);
  source.addEventListener("version", () => {
    say("a version has changed or deleted rows; load the page again to see it");
    committed();
  });
  source.addEventListener("gap", () => say("versions in between have expired, so rows are missing here"));
  source.addEventListener("warnings", (event) => say(`${counted(seen, "row")} so far; ${event.data}`));
  source.addEventListener("problem", (event) => {
    say(parse(event.data).detail);
    source.close();
  });
  source.onerror = () => {
    if (source.readyState !== EventSource.CLOSED) say("the server is away; it is asked again");
    else get("/v1/tables", { limit: 1 }).then(() => say("it has ended"), (error) => say(error.message));
  };
  return () => {
    source.close();
    status.remove();
  };
}
