// Rules of WCAG 2.2 A and AA, as checkers have them: the flaws of a page, one a line. Runs in the page.

const flaws = [];
const flaw = (rule, element, why = "") => flaws.push(`${rule}: ${element.cloneNode(false).outerHTML?.slice(0, 160)} ${why}`.trim());
const all = (selector) => [...document.querySelectorAll(selector)];
const isSeen = (element) => element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true }) && !element.closest("[aria-hidden=true]") && element.getClientRects().length > 0;
const CONTROLS = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']";
const ROLES = "alert status combobox listbox option search region img group list listitem navigation main dialog".split(" ");

/** The words that a program reads for an element; a placeholder is none. */
function nameOf(element) {
  const labelled = (element.getAttribute("aria-labelledby") ?? "").split(" ").map((id) => document.getElementById(id)?.textContent ?? "").join("");
  const text = (node) => node.nodeType === Node.TEXT_NODE ? node.data : node.ariaHidden === "true" ? "" : node.ariaLabel ?? [...node.childNodes].map(text).join("");
  const isBox = element.matches("input, select, textarea");
  const labels = isBox ? [...element.labels ?? []].map((label) => [...label.childNodes].filter((each) => each !== element).map(text).join("")).join("") : text(element);
  return (labelled || element.ariaLabel || labels || element.title || "").trim();
}

/** Red, green, blue and opacity of a color of CSS. */
function channels(color) {
  const canvas = channels.canvas ??= Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
  canvas.clearRect(0, 0, 1, 1);
  canvas.fillStyle = color;
  canvas.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
  return [r, g, b, a / 255];
}

const over = ([r, g, b, a], below) => [r, g, b].map((each, at) => each * a + below[at] * (1 - a));

function background(element) {
  if (!element) return channels("Canvas").slice(0, 3);
  const own = channels(getComputedStyle(element).backgroundColor);
  return own[3] === 1 ? own.slice(0, 3) : over(own, background(element.parentElement));
}

function brightness(color) {
  const [r, g, b] = color.map((each) => (each / 255 <= 0.04045 ? each / 255 / 12.92 : ((each / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function checkContrast() {
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const element = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || element.closest("title, script, noscript, :disabled, option") || !isSeen(element)) continue;
    const style = getComputedStyle(element);
    let color = channels(element instanceof SVGElement ? style.fill : style.color);
    for (let each = element; each; each = each.parentElement) color = [...color.slice(0, 3), color[3] * Number(getComputedStyle(each).opacity)];
    if (color[3] === 0) continue;  // an editor, whose text lies below it
    const below = background(element);
    const [a, b] = [brightness(over(color, below)), brightness(below)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const size = Number.parseFloat(style.fontSize);
    if (ratio < (size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5)) flaw("contrast", element, `${ratio.toFixed(2)} of ${walk.currentNode.data.trim().slice(0, 40)}`);
  }
}

function checkDocument() {
  const { documentElement: html } = document;
  if (!/^[a-z]{2}/.test(html.lang)) flaw("language", html);
  if (!document.title.trim()) flaw("title", html);
  if (all("h1").length !== 1) flaw("one first heading", html, String(all("h1").length));
  if (all("main").length !== 1) flaw("one main part", html);
  if (/user-scalable=no|maximum-scale=1/.test(document.querySelector("meta[name=viewport]")?.content ?? "")) flaw("zoom", html);
  if (html.scrollWidth > innerWidth + 1) flaw("no scrolling to the side", html, `${html.scrollWidth} in ${innerWidth}`);
  let before = 0;
  for (const heading of all("h1, h2, h3, h4, h5, h6").filter(isSeen)) {
    const level = Number(heading.tagName[1]);
    if (level > before + 1) flaw("order of headings", heading, `after ${before}`);
    before = level;
  }
  const landmarks = all("nav, section[aria-label], [role=region], [role=search]").filter(isSeen);
  const names = landmarks.map((each) => `${each.tagName} ${nameOf(each)}`);
  landmarks.forEach((each, at) => (each.matches("nav, [role=region]") && !(each.ariaLabel ?? "").trim()) || names.indexOf(names[at]) < at ? flaw("names of parts", each) : null);
}

function checkReferences() {
  const seen = new Set();
  for (const each of all("[id]")) seen.has(each.id) ? flaw("one of each id", each) : seen.add(each.id);
  for (const name of ["aria-controls", "aria-labelledby", "aria-describedby", "aria-activedescendant", "for"]) {
    for (const each of all(`[${name}]`)) if (each.getAttribute(name).split(" ").some((id) => !seen.has(id))) flaw(`what ${name} names is there`, each);
  }
}

function checkRoles() {
  for (const each of all("[role]")) if (!ROLES.includes(each.getAttribute("role"))) flaw("known roles", each);
  for (const each of all("[role=combobox]")) if (!each.ariaExpanded || !each.hasAttribute("aria-controls")) flaw("states of a combobox", each);
  for (const each of all("[role=option]")) if (!each.closest("[role=listbox]")) flaw("options in a list", each);
  for (const each of all("li")) if (!each.parentElement.matches("ul, ol, [role=listbox]")) flaw("lines in a list", each);
  for (const each of all("ul, ol")) if ([...each.children].some((child) => !child.matches("li"))) flaw("lists of lines", each);
  for (const each of all("dt, dd")) if (!each.parentElement.matches("dl, dl > div")) flaw("terms in a list", each);
  for (const each of all("table")) if (!each.querySelector("th") || [...each.querySelectorAll("thead th")].some((th) => th.scope !== "col")) flaw("headers of a table", each);
  for (const each of all("dialog[open], [role=dialog]")) if (!nameOf(each) || !each.ariaLabel) flaw("name of a box", each);
  for (const each of all("svg")) if (!each.closest("[aria-hidden=true]") && !(each.getAttribute("role") === "img" && nameOf(each))) flaw("words for a picture", each);
  for (const each of all("img")) if (!each.hasAttribute("alt")) flaw("words for a picture", each);
  for (const each of all("meter, progress")) if (!each.closest("[aria-hidden=true]") && !nameOf(each)) flaw("words for a meter", each);
}

function checkControls() {
  for (const each of all(CONTROLS)) {
    if (!isSeen(each)) continue;
    const name = nameOf(each);
    if (!name) flaw("names of controls", each);
    const shown = (each.innerText ?? "").trim().toLowerCase();
    if (each.ariaLabel && each.matches("a, button") && /^[a-z0-9 ]{2,}$/.test(shown) && !name.toLowerCase().includes(shown)) flaw("names have what is shown", each, shown);
    if (each.matches("a, button, summary") && each.querySelector("a[href], button, input, select, textarea")) flaw("no control in another", each);
    if (each.matches("p a") && !getComputedStyle(each).textDecorationLine.includes("underline")) flaw("links among words are underlined", each);
    const { width, height } = each.getBoundingClientRect();
    if (each.matches("button") && Math.min(width, height) < 24) flaw("size of a button", each, `${width} x ${height}`);
  }
  for (const each of all("[tabindex]")) if (each.tabIndex > 0) flaw("order of the keyboard", each);
  for (const each of all("[aria-hidden=true] :is(a[href], button, input, select, textarea, [tabindex='0'])")) flaw("nothing hidden takes the keyboard", each);
  for (const each of all("main *")) {
    const { overflowX, overflowY } = getComputedStyle(each);
    const scrolls = (overflowX === "auto" && each.scrollWidth > each.clientWidth + 1) || (overflowY === "auto" && each.scrollHeight > each.clientHeight + 1);
    if (scrolls && isSeen(each) && each.tabIndex < 0 && !each.querySelector(CONTROLS)) flaw("what scrolls takes the keyboard", each);
  }
}

checkDocument();
checkReferences();
checkRoles();
checkControls();
checkContrast();
return flaws;
