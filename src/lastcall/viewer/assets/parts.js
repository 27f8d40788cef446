// The body of an entry: JSON with its problems in place, changes, prose, code, lists.
const PIECES = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d[\d.eE+-]*)|(true|false|null)/g;
/** One line of JSON with its colours. @param {string} text @returns {Child[]} */
const coloured = (text) => {
  /** @type {Child[]} */
  const out = [];
  let at = 0;
  for (const found of text.matchAll(PIECES)) {
    const [whole, string, colon, number, literal] = found;
    if (found.index > at) out.push(text.slice(at, found.index));
    if (string && colon) out.push(el("span.j-key", null, string), colon);
    else if (string) out.push(el("span.j-text", null, string));
    else out.push(el(number ? "span.j-number" : "span.j-word", null, number ?? literal));
    at = found.index + whole.length;
  }
  if (at < text.length) out.push(text.slice(at));
  return out;
};
const SIDES = { "+": "added", "-": "taken away", "~": "unchanged" };
/** @param {Line} line @returns {Child[]} */
const line_of = (line) => {
  const side = line.s ? { "+": "plus", "-": "minus", "~": "same" }[line.s] : "";
  const row = el(`div.line${side ? `.${side}` : ""}${line.m ? ".marked" : ""}`);
  row.style.setProperty("--d", String(line.d ?? 0));
  if (line.s) add(row, [el("span.side", { "aria-hidden": "true" }, line.s === "~" ? "\u22ef" : line.s), el("span.sr", null, `${SIDES[line.s]}: `)]);
  add(row, line.s === "~" ? [line.t] : coloured(line.t ?? ""));
  return [row, (line.m ?? []).map((words) => {
    const mark = el("div.flaw", null, el("span.sr", null, "Problem here: "), words);
    mark.style.setProperty("--d", String(line.d ?? 0));
    return mark;
  })];
};
/** @param {string} text @param {number | undefined} at @returns {Child[]} */
const code_with_mark = (text, at) => {
  if (at === undefined || at > text.length) return [text];
  const end = [...text.slice(at, at + 2)][0]?.length ?? 0;
  return [text.slice(0, at), el("mark.stop", { title: "Reading stopped here" }, el("span.sr", null, "[reading stopped here] "), text.slice(at, at + end) || " "), text.slice(at + end)];
};
/** @param {Part} part @returns {HTMLElement} */
const part_of = (part) => {
  const body = body_of(part);
  const more = part.left_out ? el("p.soft.more", null, `${count(part.left_out)} more ${part.unit ?? ""} are not shown here.`) : null;
  const copy = part.form === "json" && part.text ? copy_button(part.text) : null;
  const head = part.label || copy ? el("div.part-head", null, part.label ? el("span.part-label", null, part.label) : null, el("span.spring"), copy) : null;
  return el("div.part", null, head, body, more);
};
/** @param {Part} part @returns {HTMLElement} */
const body_of = (part) => {
  switch (part.form) {
    case "json":
    case "changes":
      return el("div.json", { tabindex: 0, role: "group", "aria-label": part.label || "JSON" }, (part.lines ?? []).map(line_of));
    case "points":
      return el("ul.points", null, (part.points ?? []).map((point) => el("li", null, point)));
    case "code":
      return el("pre.code", { tabindex: 0, dir: "auto" }, code_with_mark(part.text ?? "", part.at));
    default:
      return el("div.prose", { dir: "auto" }, (part.text ?? "").trim() ? part.text : el("span.soft", null, "(nothing)"));
  }
};
/** @param {string} text */
const copy_button = (text) => {
  const button = el("button.quiet.copy", { type: "button" }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not allowed";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  return button;
};
