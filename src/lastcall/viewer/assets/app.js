// The page: which view, live changes, the keyboard.
const main = /** @type {HTMLElement} */ (document.getElementById("main"));
const values = /** @type {Values} */ (json_of("lastcall-values") ?? { source: { kind: "embedded" } });
const source = new Source_(values.source);
const timeline = new Timeline();
const view = {
  /** @type {Session | null} */ session: null,
  run: 0,
  follow: true,
  /** @type {"runs" | "run" | "contract"} */ shown: "runs",
  words: "",
  kinds: "",
  /** @type {AbortController | null} */ stream: null,
};
/** @param {string} id @returns {Session} */
const empty_session = (id) => ({ facts: { session_id: id }, contract: null, runs: [], entries: [], live: false });
/** @param {Session} session @param {Changes} changes */
const apply = (session, changes) => {
  if (changes.session) session.facts = changes.session;
  if (changes.contract) session.contract = changes.contract;
  for (const run of changes.runs ?? []) session.runs[run.number - 1] = run;
  for (const entry of changes.entries ?? []) session.entries[entry.place] = entry;
  session.live = Boolean(changes.live);
};
/** @param {Session} session @returns {Entry[]} */
const entries_shown = (session) => {
  const terms = view.words.toLowerCase().split(/\s+/).filter(Boolean);
  return session.entries.filter((entry) => entry.run === view.run && (!view.kinds || KINDS[view.kinds]?.(entry)) && (!terms.length || has_terms(entry, terms)));
};
const KINDS = /** @type {Record<string, (entry: Entry) => boolean>} */ ({
  attempts: (entry) => entry.kind === "attempt" || entry.kind === "decline" || entry.kind === "end",
  tools: (entry) => entry.kind === "call",
  words: (entry) => ["text", "thinking", "prompt", "nudge", "note"].includes(entry.kind),
  trouble: (entry) => entry.tone === "bad" || entry.tone === "warn",
});
/** @type {WeakMap<Entry, string>} */
const haystacks = new WeakMap();
/** @param {Entry} entry @param {string[]} terms */
const has_terms = (entry, terms) => {
  let text = haystacks.get(entry);
  if (text === undefined) {
    text = [entry.title, entry.name, entry.summary, entry.word, ...(entry.facts ?? []), ...(entry.parts ?? []).flatMap((part) =>
      [part.text, ...(part.points ?? []), ...(part.lines ?? []).flatMap((line) => [line.t, ...(line.m ?? [])])])].join(" ").toLowerCase();
    haystacks.set(entry, text);
  }
  const found = text;
  return terms.every((term) => found.includes(term));
};
/** @param {number} place */
const go = (place) => {
  view.follow = false;
  timeline.go(place, true);
};

// -- a session ------------------------------------------------------------------------------------------------------

const hero = el("section.hero", { "aria-label": "Summary" });
const overview = el("div.overview");
const aside = el("aside.sides", { "aria-label": "Result and session" });
const tabs = el("nav.tabs", { "aria-label": "Views" });
const tally = el("span.soft", { role: "status", id: "status" });
const search = /** @type {HTMLInputElement} */ (el("input", { type: "search", id: "search", placeholder: "Search this run", "aria-label": "Search this run" }));
const kinds = /** @type {HTMLSelectElement} */ (el("select", { "aria-label": "Show" }, [["", "Everything"], ["attempts", "Attempts"], ["tools", "Tools"], ["words", "Words"], ["trouble", "Trouble"]].map(([value, name]) => el("option", { value: value ?? "" }, name))));
const rows = el("section.rows", { "aria-label": "Timeline" }, el("div.rows-head", null, el("h2", null, "Timeline"), el("span.spring"), tally, kinds, search), timeline.list);
const contract_box = el("section", { "aria-label": "Contract" });
search.addEventListener("input", () => { view.words = search.value; show_rows(); });
kinds.addEventListener("input", () => { view.kinds = kinds.value; show_rows(); });
timeline.list.addEventListener("click", (event) => {
  const fold = /** @type {Element} */ (event.target).closest("summary")?.parentElement;
  if (fold) fold.dataset.touched = "1";
});
const show_rows = () => {
  const session = view.session;
  const run = session?.runs[view.run - 1];
  if (!session || !run) return;
  const entries = entries_shown(session);
  timeline.show(entries, run.at);
  say_count(session, entries);
};
/** @param {Session} session @param {Entry[]} entries */
const say_count = (session, entries) => {
  const all = session.entries.reduce((n, entry) => n + Number(entry.run === view.run), 0);
  tally.textContent = entries.length === all ? `${count(all)} rows` : `${count(entries.length)} of ${count(all)} rows`;
};
/** @param {Session} session @param {RunFacts} run */
const show_summary = (session, run) => {
  const going = !run.outcome;
  const prompt = run.prompt.length > 600 ? `${run.prompt.slice(0, 600)}\u2026` : run.prompt;
  fill(hero,
    el("div.hero-top", null, chip(going && !session.live ? "unfinished" : (run.word ?? "running"), going && !session.live ? "warn" : run.tone, going && session.live),
      session.facts.title ? el("span.soft", { dir: "auto" }, session.facts.title) : null,
      session.live ? el("span.live", null, "live") : null),
    el("h1", { dir: "auto" }, run.reason || (session.live ? "The run goes on." : "The run did not end: its process was cut off, or goes on elsewhere.")),
    el("blockquote.prompt", { dir: "auto" }, prompt),
    figures_of(run, go),
    session.facts.note ? el("p.file-note", null, session.facts.note) : null);
  fill(overview, ribbon_of(run, session.entries.filter((entry) => entry.run === view.run), go));
  const beside = JSON.stringify([run.answer, run.checks, run.warnings, run.effects, session.facts, run.number]);
  if (aside.dataset.shown !== beside) fill(aside, sides_of(session, run)); // what is being read or copied stays
  aside.dataset.shown = beside;
};
/** @param {Session} session */
const show_tabs = (session) => {
  const id = encodeURIComponent(session.facts.session_id);
  const at = (/** @type {string} */ name, /** @type {string} */ href, /** @type {boolean} */ here) => el("a", { href, "aria-current": here ? "page" : null }, name);
  fill(tabs,
    values.source.kind === "served" ? at("\u2190 All runs", "#/", false) : null,
    session.runs.map((run) => at(session.runs.length === 1 ? "Timeline" : `Run ${run.number}`, `#/run/${id}/${run.number}`, view.shown === "run" && view.run === run.number)),
    session.contract ? at("Contract", `#/run/${id}/contract`, view.shown === "contract") : null,
    values.source.exports ? el("a.save", { href: `${values.source.base ?? ""}/stories/${id}/page.html`, download: true }, "Save as a file") : null);
};
const show_session = () => {
  const session = view.session;
  if (!session) return;
  if (!session.runs.length) {
    fill(main, el("h1", null, session.live ? "Waiting for the first prompt" : "Nothing was asked yet"), session.facts.note ? el("p.file-note", null, session.facts.note) : null);
    return;
  }
  view.run = Math.min(Math.max(1, view.run || session.runs.length), session.runs.length);
  const run = session.runs[view.run - 1];
  if (!run) return;
  document.title = `${run.word ?? "running"}: ${visible(run.prompt.slice(0, 80))} \u2013 lastcall`;
  show_tabs(session);
  show_summary(session, run);
  if (view.shown === "contract" && session.contract) {
    fill(contract_box, el("h1", { dir: "auto" }, session.contract.title || "The contract"), el("p.soft", null, [session.contract.dialect, session.contract.digest?.slice(0, 12)].filter(Boolean).join(" \u00b7 ")), contract_of(session.contract));
    fill(main, tabs, contract_box);
    return;
  }
  fill(main, tabs, hero, overview, el("div.columns", null, rows, aside));
  show_rows();
};
/** @param {Session} session @param {Changes} changes */
const show_changes = (session, changes) => {
  const run = session.runs[view.run - 1];
  const newest = session.runs.length;
  if (!run || !main.contains(timeline.list) || (view.follow && view.run < newest && !changes.runs?.some((one) => one.number === view.run))) {
    if (view.shown !== "contract") {
      view.run = view.follow ? newest : view.run;
      show_session();
    }
    return;
  }
  show_tabs(session);
  show_summary(session, run);
  const entries = entries_shown(session);
  if (view.words || view.kinds) timeline.show(entries, run.at); // a row that changed may come or go anywhere
  else timeline.update(entries, (changes.entries ?? []).filter((entry) => entry.run === view.run));
  say_count(session, entries);
  const last = (changes.entries ?? []).findLast((entry) => ["attempt", "end", "call", "fallback", "warning"].includes(entry.kind));
  if (last) announce([last.title, last.name, last.word, last.kind === "end" ? last.summary : ""].filter(Boolean).join(" "));
};

// -- views ----------------------------------------------------------------------------------------------------------

/** @param {string} id */
const follow_session = async (id) => {
  view.stream?.abort();
  const stream = new AbortController();
  view.stream = stream;
  const session = empty_session(id);
  view.session = session;
  view.words = view.kinds = search.value = kinds.value = "";
  fill(main, el("p.soft", null, "Loading\u2026"));
  for (let wait = 500; !stream.signal.aborted; wait = Math.min(wait * 2, 10_000)) {
    try {
      let first = true;
      for await (const changes of source.story(id, stream.signal)) {
        if (stream.signal.aborted) return;
        wait = 500;
        if (first && session.entries.length) Object.assign(session, { runs: [], entries: [] });
        apply(session, changes);
        if (first) show_session();
        else show_changes(session, changes);
        first = false;
      }
      if (!session.live) return;
    } catch (error) {
      if (stream.signal.aborted) return;
      if (error instanceof Refused) { fill(main, ask_token(route)); return; }
      if (!session.entries.length) { fill(main, el("h1", null, "This run cannot be shown"), el("p", { dir: "auto" }, String(error instanceof Error ? error.message : error))); return; }
      announce("The connection was lost. Trying again.");
    }
    await new Promise((resume) => { setTimeout(resume, wait); });
  }
};
const LOOK_MS = 3000;
const show_runs = async () => {
  view.stream?.abort();
  view.session = null;
  document.title = "Runs \u2013 lastcall";
  try {
    const listing = values.source.kind === "served" ? await source.listing() : (values.listing ?? { runs: [] });
    if (view.shown !== "runs") return;
    const list = runs_of(listing);
    fill(main, list.box);
    while (values.source.kind === "served") {
      await new Promise((resume) => { setTimeout(resume, LOOK_MS); });
      if (!main.contains(list.box)) return;
      if (document.visibilityState === "visible") list.update(await source.listing());
    }
  } catch (error) {
    if (view.shown !== "runs") return;
    if (error instanceof Refused) fill(main, ask_token(route));
    else if (main.querySelector(".runs")) announce("The server does not answer. Load the page again.");
    else fill(main, el("h1", null, "The list cannot be shown"), el("p", null, String(error instanceof Error ? error.message : error)));
  }
};
/** @param {string | undefined} text */
const decoded = (text) => {
  try { return decodeURIComponent(text ?? ""); } catch { return text ?? ""; }
};
const route = () => {
  const [, kind, id, rest] = location.hash.split("/");
  if (kind !== "run" && values.source.kind === "served" && !values.session) { view.shown = "runs"; void show_runs(); return; }
  view.shown = rest === "contract" ? "contract" : "run";
  view.follow = !rest;
  view.run = Number(rest) || 0;
  const wanted = kind === "run" && id ? decoded(id) : (values.session ?? "");
  if (values.source.kind === "embedded") {
    if (!view.session) { view.session = empty_session(wanted); apply(view.session, values.story ?? {}); }
    show_session();
  } else if (view.session && view.session.facts.session_id === wanted) show_session();
  else void follow_session(wanted);
};
globalThis.addEventListener("hashchange", () => { route(); globalThis.scrollTo(0, 0); });
globalThis.addEventListener("beforeprint", () => {
  timeline.fill_all();
});
setInterval(() => {
  const run = view.session?.live ? view.session.runs[view.run - 1] : undefined;
  const took = document.getElementById("took");
  if (run && took && !run.ended_at) took.textContent = duration(Date.now() - run.at * 1000);
}, 1000);

// -- keyboard -------------------------------------------------------------------------------------------------------

const help = /** @type {HTMLDialogElement} */ (el("dialog.help", { "aria-labelledby": "help-title" }, el("h2", { id: "help-title" }, "Keys"),
  el("dl.keys", null, [["j, k", "next row, row before"], ["Enter", "open or close the row"], ["a", "next attempt"], ["/", "search"], ["Escape", "leave the search"], ["o", "open all rows, or close them"], ["c", "contract, and back"], ["?", "this list"]].map(([key, what]) => [el("dt", null, el("kbd", null, key)), el("dd", null, what)])),
  el("form", { method: "dialog" }, el("button", { autofocus: true }, "Close"))));
document.body.append(help, el("div.sr", { id: "spoken", "aria-live": "polite" }));
const help_button = el("button.quiet", { type: "button", "aria-label": "Keys" }, "?");
help_button.addEventListener("click", () => help.showModal());
document.getElementById("theme")?.before(help_button);
const next_attempt = () => {
  const here = Number(document.activeElement?.closest(".entry")?.id.slice(1) ?? -1);
  const attempts = timeline.entries.filter((entry) => entry.kind === "attempt");
  const next = attempts.find((entry) => entry.place > here) ?? attempts[0];
  if (next) go(next.place);
};
const toggle_all = () => {
  timeline.fill_all();
  const folds = [...timeline.list.querySelectorAll("details")];
  const open = !folds.every((fold) => fold.open);
  for (const fold of folds) { fold.open = open; fold.dataset.touched = "1"; }
};
/** @type {Record<string, () => void>} */
const KEYS = {
  j: () => (view.session ? timeline.move(1) : move_in_runs(1)),
  k: () => (view.session ? timeline.move(-1) : move_in_runs(-1)),
  a: next_attempt,
  o: toggle_all,
  "/": () => document.getElementById("search")?.focus(),
  "?": () => help.showModal(),
  c: () => { if (view.session?.contract) location.hash = `#/run/${encodeURIComponent(view.session.facts.session_id)}/${view.shown === "contract" ? view.run : "contract"}`; },
};
document.addEventListener("keydown", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  const typing = target.matches("input, select, textarea");
  if (event.key === "Escape" && typing) { event.preventDefault(); target.blur(); return; } // the words stay
  if (typing || event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  const act = KEYS[event.key];
  if (act) { event.preventDefault(); view.follow = false; act(); }
});
route();
