// The list of runs, with filters.
/** The list, and how to show a newer one in it. @param {Listing} listing @returns {{box: HTMLElement, update: (newer: Listing) => void}} */
const runs_of = (listing) => {
  const search = /** @type {HTMLInputElement} */ (el("input", { type: "search", id: "search", placeholder: "Prompt, model, directory, id", "aria-label": "Search the runs" }));
  const word = /** @type {HTMLSelectElement} */ (el("select", { "aria-label": "Outcome" }));
  const model = /** @type {HTMLSelectElement} */ (el("select", { "aria-label": "Model" }));
  /** @param {HTMLSelectElement} select @param {string} any @param {(row: Row) => string | undefined} of */
  const offer = (select, any, of) => {
    const chosen = select.value;
    const found = [...new Set([...listing.runs.map((row) => of(row) ?? ""), chosen])].filter(Boolean).sort();
    fill(select, el("option", { value: "" }, any), found.map((one) => el("option", { value: one }, one)));
    select.value = chosen;
  };
  const status = el("p.soft", { role: "status" });
  const list = el("ul.runs");
  const show = () => {
    const focused = document.activeElement?.closest(".run-link")?.getAttribute("href");
    const terms = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = listing.runs.filter((row) => (!word.value || row.word === word.value) && (!model.value || row.model === model.value)
      && terms.every((term) => `${row.prompt} ${row.model} ${row.place} ${row.id} ${row.word}`.toLowerCase().includes(term)));
    status.textContent = `${count(found.length)} of ${count(listing.runs.length)} sessions${listing.left_out ? ` (${count(listing.left_out)} older ones are not listed)` : ""}`;
    fill(list, found.slice(0, 500).map((row) => {
      const link = el("a.run-link", { href: `#/run/${encodeURIComponent(row.id)}` },
        el("span.run-top", null, chip(row.word || "?", row.tone, row.word === "unfinished"), el("span.run-prompt", { dir: "auto" }, (row.prompt || "(no prompt)").slice(0, 240))),
        el("span.run-sub.soft", null, el("span", { dir: "auto" }, row.model ?? ""), el("span", { dir: "auto" }, row.place ?? ""), el("span", null, moment(row.at)), row.note ? el("span", null, row.note) : null));
      return el("li", null, link);
    }), found.length ? null : el("li.card.soft", null, listing.runs.length ? "No session matches." : "There is no session yet. Run lastcall -p \u2026 and look again."));
    if (focused) [.../** @type {NodeListOf<HTMLElement>} */ (list.querySelectorAll(".run-link"))].find((link) => link.getAttribute("href") === focused)?.focus();
  };
  const offer_all = () => {
    offer(word, "Any outcome", (row) => row.word);
    offer(model, "Any model", (row) => row.model);
  };
  for (const control of [search, word, model]) control.addEventListener("input", show);
  offer_all();
  show();
  return {
    box: el("div.stack", null, el("h1", null, "Runs"), el("div.filters", { role: "search" }, search, word, model), status, list),
    update: (newer) => {
      if (JSON.stringify(newer) === JSON.stringify(listing)) return;
      listing = newer;
      offer_all();
      show();
    },
  };
};
/** Move the focus in the list. @param {number} step */
const move_in_runs = (step) => {
  const links = [.../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".run-link"))];
  const at = links.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  links[at < 0 ? (step > 0 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, at + step))]?.focus();
};
