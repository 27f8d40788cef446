// The rows of a run. Only what is near the screen is built at once, the rest when the browser is idle, so that ten
// thousand rows stay fluid.
const CHUNK = 30;
const AT_ONCE = 6;
const SIGNS = /** @type {Record<string, string>} */ ({
  prompt: "\u201c", turn: "", text: "\u00b6", thinking: "\u2026", call: "\u2192", attempt: "\u25c6", nudge: "\u21a9", note: "\u203b", retry: "\u21bb",
  fallback: "\u21c4", warning: "!", limit: "\u2016", hook: "\u2020", decline: "\u2298", end: "\u25a0", resumed: "\u21bb", opaque: "\u25a1",
});
/** @param {Entry} entry @param {number} began @returns {HTMLElement} */
const row_of = (entry, began) => {
  const parts = entry.parts ?? [];
  const since = Math.max(0, (entry.at - began) * 1000);
  const label = entry.kind === "turn" ? el("h3.what", null, entry.title) : el("span.what", null, entry.title);
  const head = [
    el("span.sign", { "aria-hidden": "true" }, SIGNS[entry.kind] ?? "\u00b7"),
    label,
    entry.name ? el("span.name.mono", { dir: "auto" }, entry.name) : null,
    entry.word ? chip(entry.word, entry.tone, entry.pending) : entry.pending ? chip("waiting", "calm", true) : null,
    entry.gone && entry.kind !== "attempt" ? chip("taken back", "warn") : null,
    (entry.facts ?? []).map((fact) => el("span.fact", null, fact)),
    entry.summary ? el("span.gist", { dir: "auto" }, entry.summary) : null,
    el("span.spring"),
    entry.at === 0 ? null : el("span.when", { title: moment(entry.at) }, entry.took_ms !== undefined ? duration(entry.took_ms) : `+${duration(since)}`),
  ];
  const row = el(`li.entry.k-${entry.kind}${entry.tone ? `.t-${entry.tone}` : ""}${entry.gone ? ".gone" : ""}`, { id: `e${entry.place}` });
  if (!parts.length) {
    row.append(el("div.head", { tabindex: -1 }, head));
    return row;
  }
  const fold = /** @type {HTMLDetailsElement} */ (el("details", null, el("summary.head", null, head)));
  const build = () => {
    if (fold.open && fold.childElementCount === 1) fold.append(el("div.body", null, parts.map(part_of)));
  };
  fold.open = Boolean(entry.open);
  build();
  fold.addEventListener("toggle", build);
  row.append(fold);
  return row;
};
class Timeline {
  constructor() {
    this.list = el("div.timeline", { role: "presentation" });
    /** @type {Entry[]} */ this.entries = [];
    /** @type {{box: HTMLElement, from: number, filled: boolean}[]} */ this.chunks = [];
    this.began = 0;
    this.watch = new IntersectionObserver((seen) => {
      for (const one of seen) if (one.isIntersecting) this.fill(Number(/** @type {HTMLElement} */ (one.target).dataset.chunk));
    }, { rootMargin: "1500px 0px" });
    this.idle = 0;
  }
  /** Show these entries and no others. @param {Entry[]} entries @param {number} began */
  show(entries, began) {
    this.entries = entries;
    this.began = began;
    this.watch.disconnect();
    this.chunks = [];
    this.list.replaceChildren();
    for (let from = 0; from < entries.length; from += CHUNK) this.add_chunk(from);
    for (let n = 0; n < Math.min(AT_ONCE, this.chunks.length); n += 1) this.fill(n);
    this.rest();
  }
  /** @param {number} from */
  add_chunk(from) {
    const box = el("ol.chunk", { "data-chunk": this.chunks.length, "aria-label": `Rows from ${from + 1}` });
    box.style.setProperty("--rows", String(Math.min(CHUNK, this.entries.length - from)));
    this.chunks.push({ box, from, filled: false });
    this.list.append(box);
    this.watch.observe(box);
  }
  /** @param {number} n */
  fill(n) {
    const chunk = this.chunks[n];
    if (!chunk || chunk.filled) return;
    chunk.filled = true;
    chunk.box.append(...this.entries.slice(chunk.from, chunk.from + CHUNK).map((entry) => row_of(entry, this.began)));
    this.watch.unobserve(chunk.box);
  }
  /** Build the rest when there is nothing else to do, so that the browser's own search and readers find it. */
  rest() {
    const later = globalThis.requestIdleCallback ?? ((/** @type {() => void} */ run) => setTimeout(run, 50));
    if (this.idle) return;
    this.idle = later(() => {
      this.idle = 0;
      const next = this.chunks.findIndex((chunk) => !chunk.filled);
      if (next >= 0) {
        this.fill(next);
        this.rest();
      }
    });
  }
  fill_all() {
    this.chunks.forEach((_, n) => this.fill(n));
  }
  /** Entries that changed or came; `entries` is the whole list as it is now. @param {Entry[]} entries @param {Entry[]} changed */
  update(entries, changed) {
    this.entries = entries;
    const where = new Map(entries.map((entry, n) => [entry.place, n]));
    for (const entry of changed) {
      const n = where.get(entry.place);
      if (n === undefined) continue;
      const index = Math.floor(n / CHUNK);
      if (index >= this.chunks.length) this.add_chunk(index * CHUNK);
      const chunk = this.chunks[index];
      if (!chunk) continue;
      if (!chunk.filled && index < AT_ONCE) this.fill(index);
      const old = document.getElementById(`e${entry.place}`);
      const fresh = row_of(entry, this.began);
      if (old) {
        const fold = old.querySelector("details"), anew = fresh.querySelector("details");
        const touched = fold && fold.dataset.touched;
        if (touched && anew) { anew.dataset.touched = "1"; anew.open = fold.open; anew.dispatchEvent(new Event("toggle")); }
        const focused = old.contains(document.activeElement);
        old.replaceWith(fresh);
        if (focused) head_of(fresh)?.focus({ preventScroll: true });
      } else if (chunk.filled && n === chunk.from + chunk.box.childElementCount) {
        chunk.box.append(fresh);
      } else if (chunk.filled && n < chunk.from + chunk.box.childElementCount) {
        chunk.box.insertBefore(fresh, chunk.box.children[n - chunk.from] ?? null);
      }
    }
    this.rest();
  }
  /** The element of a row, built if it was not. @param {number} place @returns {HTMLElement | null} */
  find(place) {
    const n = this.entries.findIndex((entry) => entry.place === place);
    if (n < 0) return null;
    this.fill(Math.floor(n / CHUNK));
    return document.getElementById(`e${place}`);
  }
  /** Go to a row. @param {number} place @param {boolean} [open] */
  go(place, open) {
    const row = this.find(place);
    const fold = row?.querySelector("details");
    if (fold && open) fold.open = true;
    row?.scrollIntoView({ block: "start" });
    if (row) head_of(row)?.focus({ preventScroll: true });
  }
  /** Move the focus by so many rows. @param {number} step */
  move(step) {
    const row = document.activeElement?.closest(".entry");
    let n = row ? this.entries.findIndex((entry) => `e${entry.place}` === row.id) : -1;
    if (n < 0) n = step > 0 ? -1 : this.entries.length;
    const next = this.entries[Math.min(this.entries.length - 1, Math.max(0, n + step))];
    if (!next) return;
    const found = this.find(next.place);
    if (found) {
      head_of(found)?.focus({ preventScroll: true });
      found.scrollIntoView({ block: "nearest" });
    }
  }
}
/** @param {Element} row @returns {HTMLElement | null} */
const head_of = (row) => row.querySelector(".head");
