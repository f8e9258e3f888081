// One box: words, `field:value`, and conditions of SQL; what is typed becomes a condition.

const MOST_WORD_FIELDS = 20;
const SQL = /[=<>]|\b(?:LIKE|ILIKE|IN|IS|BETWEEN|AND|OR|NOT)\b|\b[A-Z_]{2,}\(/;
const TOKEN = /(-?)("(?:[^"\\]|\\.)*"|[^\s"]+?(?:"(?:[^"\\]|\\.)*"|(?=\s|$)))/g;
const NUMBER = /^-?\d+(?:\.\d+)?$/;
const NUMBERS = ["int", "uint", "float", "decimal"];

/** @typedef {{name: string, path: (string | null)[], types: string[], rows: number | null}} Field */

/** The name of a field as it is typed in the box. @param {(string | null)[]} path */
export function nameOf(path) {
  return path.map((part) => part ?? "[]").join(".");
}

/** @param {string} name */
function quotedName(name) {
  return `"${name.replace(/[\\"]/g, "\\$&")}"`;
}

/** The path of a field in SQL. @param {(string | null)[]} path */
export function quotedPath(path) {
  return path.map((part) => quotedName(part ?? "")).join(".");
}

/** A table in SQL. @param {{database: string, table: string}} table */
export function quotedTable({ database, table }) {
  return `${quotedName(database)}.${quotedName(table)}`;
}

/** @param {string} text */
export function literal(text) {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A pattern of LIKE for a part of a text. @param {string} text */
function pattern(text) {
  return text.replace(/[!%_]/g, "!$&");
}

/** What stands in the box for a value of a field. @param {string} name @param {unknown} value @param {boolean} isExcluded */
export function token(name, value, isExcluded) {
  const shown = typeof value === "string" ? JSON.stringify(value) : String(value);
  const field = /^[^\s":]+$/.test(name) ? name : JSON.stringify(name);
  return `${isExcluded ? "-" : ""}${field}:${shown}`;
}

/**
 * The condition of what is typed.
 * @param {string} text
 * @param {Map<string, Field>} fields
 * @returns {{sql: string, note: string}} the note says what was left out
 */
export function condition(text, fields) {
  const bare = text.trim();
  if (!bare) return { sql: "", note: "" };
  const outside = bare.replace(/"(?:[^"\\]|\\.)*"|'[^']*'/g, "''");
  const parts = split(bare, fields);
  const isAllFields = parts.every((part) => part.field);
  if (!isAllFields && SQL.test(outside)) return { sql: bare, note: "" };
  let note = "";
  const terms = parts.map((part) => {
    let sql;
    if (part.field) sql = equals(part.field, part.value, part.isQuoted);
    else {
      const texts = [...fields.values()].filter((field) => !field.path.includes(null) && field.types.includes("string"));
      const among = texts.slice(0, MOST_WORD_FIELDS);
      if (among.length < texts.length) note = `words are looked for in the first ${among.length} of ${texts.length} fields with texts`;
      if (texts.length === 0) note = "no field has texts to look for words in";
      const like = literal(`%${pattern(part.value)}%`);
      sql = `(${among.map(({ path }) => `${quotedPath(path)} ILIKE ${like} ESCAPE '!'`).join(" OR ") || "FALSE"})`;
    }
    return part.isExcluded ? `(${sql}) IS NOT TRUE` : sql;
  });
  return { sql: terms.join(" AND "), note };
}

/** @param {string} text @param {Map<string, Field>} fields */
function split(text, fields) {
  const found = [];
  for (const [, minus, body] of text.matchAll(TOKEN)) found.push({ minus, body });
  /** @type {{field?: Field, value: string, isQuoted: boolean, isExcluded: boolean}[]} */
  const parts = [];
  for (let at = 0; at < found.length; at++) {
    let { minus, body } = found[at];
    // A quoted name of a field, and its value behind the colon.
    if (body.startsWith('"') && found[at + 1]?.body.startsWith(":")) body += found[++at].body;
    const isExcluded = minus === "-";
    const field = fieldOf(body, fields);
    const rest = field ? field.rest : body;
    const isQuoted = rest.length > 1 && rest.startsWith('"') && rest.endsWith('"');
    parts.push({ field: field?.field, value: isQuoted ? unquoted(rest) : rest, isQuoted, isExcluded });
  }
  return parts;
}

/** @param {string} text */
function unquoted(text) {
  try {
    return String(JSON.parse(text));
  } catch {
    return text.slice(1, -1);
  }
}

/** @param {string} body @param {Map<string, Field>} fields */
function fieldOf(body, fields) {
  const quoted = /^("(?:[^"\\]|\\.)*"):/.exec(body);
  const name = quoted ? unquoted(quoted[1]) : body.slice(0, Math.max(0, body.indexOf(":")));
  const field = fields.get(name);
  return field && !field.path.includes(null) ? { field, rest: body.slice((quoted ? quoted[1].length : name.length) + 1) } : null;
}

/** @param {Field} field @param {string} value @param {boolean} isQuoted */
function equals(field, value, isQuoted) {
  const path = quotedPath(field.path);
  if (!isQuoted && (value === "null" || value === "")) return `${path} IS NULL`;
  if (!isQuoted && value === "*") return `${path} IS NOT NULL`;
  if (!isQuoted && value.includes("*")) return `${path} ILIKE ${literal(value.split("*").map(pattern).join("%"))} ESCAPE '!'`;
  const choices = [];
  const hasNumbers = field.types.some((type) => NUMBERS.includes(type));
  if (!isQuoted && hasNumbers && NUMBER.test(value)) choices.push(`${path} = ${value}`);
  if (!isQuoted && field.types.includes("bool") && /^(true|false)$/i.test(value)) choices.push(`${path} = ${value.toUpperCase()}`);
  if (!choices.length || field.types.includes("string")) choices.push(`${path} = ${literal(value)}`);
  return choices.length > 1 ? `(${choices.join(" OR ")})` : choices[0];
}
