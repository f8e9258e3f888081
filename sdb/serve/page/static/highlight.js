// Colors of SQL in an editor: a text that cannot be edited lies below one that has no color.

import { h } from "./dom.js";

export const KEYWORDS = ("ALL AND ANY AS ASC BETWEEN BY CASE CAST COUNT CROSS CURRENT DESC DISTINCT ELSE END EXCEPT EXISTS EXPLAIN FALSE FILTER FIRST FROM FULL "
  + "GROUP HAVING ILIKE IN INNER INTERSECT INTERVAL IS JOIN LAST LEFT LIKE LIMIT MISSING NOT NULL NULLS OFFSET ON OR ORDER OUTER OVER PARTITION PIVOT RIGHT "
  + "SELECT THEN TRUE UNION UNNEST UNPIVOT USING VALUES WHEN WHERE WINDOW WITH").split(" ");
export const FUNCTIONS = ("ABS APPROX_COUNT_DISTINCT AVG COALESCE CONCAT CONTAINS COUNT DATE_ADD DATE_BIN DATE_DIFF DATE_TRUNC EXTRACT FLOOR LENGTH LOWER MAX MEDIAN MIN NOW "
  + "NULLIF REGEXP_LIKE REPLACE ROUND ROW_NUMBER SIZE SPLIT_PART SUBSTRING SUM TRIM UPPER").split(" ");
const WORDS = new Set(KEYWORDS);
const PIECES = /(?<comment>--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|(?<text>'(?:[^']|'')*'?)|(?<name>"(?:[^"\\]|\\.)*"?)|(?<time>`[^`]*`?)|(?<number>\b\d+(?:\.\d+)?(?:e[+-]?\d+)?\b)|(?<word>[A-Za-z_]\w*)(?=(?<call>\s*\()?)/gi;

/** @param {string} sql @returns {(string | HTMLElement)[]} */
export function highlighted(sql) {
  /** @type {(string | HTMLElement)[]} */
  const pieces = [];
  let end = 0;
  for (const match of sql.matchAll(PIECES)) {
    const { word, call, ...kinds } = match.groups ?? {};
    const kind = word === undefined ? Object.keys(kinds).find((name) => kinds[name] !== undefined)
      : WORDS.has(word.toUpperCase()) ? "keyword" : call !== undefined ? "function" : "";
    if (!kind) continue;
    pieces.push(sql.slice(end, match.index));
    const piece = h("span", { class: `sql-${kind}` });
    piece.textContent = match[0];
    pieces.push(piece);
    end = (match.index ?? 0) + match[0].length;
  }
  pieces.push(sql.slice(end));
  return pieces;
}

/** Color what a box has. @param {HTMLTextAreaElement} box @returns {HTMLElement} both, to be put in its place */
export function colored(box) {
  const below = h("pre", { "aria-hidden": "true" });
  const fill = () => below.replaceChildren(...highlighted(box.value), "\n");
  box.addEventListener("input", fill);
  box.addEventListener("scroll", () => {
    below.scrollTop = box.scrollTop;
    below.scrollLeft = box.scrollLeft;
  });
  fill();
  return h("div", { class: "editor" }, below, box);
}
