// Elements from values. Text is always a text node; a page's trusted types refuse anything else.
/**
 * `el("p.soft", {id: "x"}, "text")`: an element with classes, attributes and children.
 * @param {string} what @param {Record<string, string | number | boolean | null | undefined> | null} [attributes] @param {...Child} children
 * @returns {HTMLElement}
 */
const el = (what, attributes, ...children) => {
  const [name = "div", ...classes] = what.split(".");
  const made = document.createElement(name);
  if (classes.length) made.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === true) made.setAttribute(key, "");
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, String(value));
  }
  add(made, children);
  return made;
};
/** @param {Element} parent @param {Child[]} children */
const add = (parent, children) => {
  for (const child of children) {
    if (Array.isArray(child)) add(parent, child);
    else if (child instanceof Node) parent.append(child);
    else if (child !== null && child !== undefined && child !== false && child !== "") parent.append(visible(String(child)));
  }
};
/** @param {Element} parent @param {...Child} children */
const fill = (parent, ...children) => {
  parent.replaceChildren();
  add(parent, children);
};
/** Characters that steer a terminal or the direction of writing, made visible: a text must look like what it is.
 * @param {string} text @returns {string} */
const visible = (text) =>
  text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/gu,
    (c) => `\u27e8U+${(c.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}\u27e9`);
/** @param {string} word @param {Tone | undefined} tone @param {boolean} [busy] */
const chip = (word, tone, busy) => el(`span.chip${tone ? `.${tone}` : ""}${busy ? ".busy" : ""}`, null, word);
/** @param {number | undefined | null} ms */
const duration = (ms) => {
  if (ms === undefined || ms === null) return "";
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  const s = ms / 1000;
  if (s < 60) return `${s < 10 ? s.toFixed(1) : Math.round(s)} s`;
  const whole = Math.round(s);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
};
/** @param {number} n */
const count = (n) => n.toLocaleString("en-US");
/** @param {number} at */
const moment = (at) => new Date(at * 1000).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" });
/** @param {number} usd */
const money = (usd) => (usd === 0 ? "$0" : usd < 0.01 ? `$${usd.toPrecision(2)}` : `$${usd.toFixed(usd < 1 ? 3 : 2)}`);
/** @param {string} words */
const announce = (words) => {
  const region = document.getElementById("spoken");
  if (region) region.textContent = visible(words);
};
/** @template T @param {string} id @returns {T | null} */
const json_of = (id) => {
  const text = document.getElementById(id)?.textContent;
  return text ? JSON.parse(text) : null;
};
