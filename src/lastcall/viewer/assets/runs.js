// The list of runs, with filters.
/** @param {Listing} listing @param {(id: string) => void} open @returns {HTMLElement} */
const runs_of = (listing, open) => {
  const search = /** @type {HTMLInputElement} */ (el("input", { type: "search", id: "search", placeholder: "Prompt, model, directory, id", "aria-label": "Search the runs" }));
  const words = [...new Set(listing.runs.map((row) => row.word ?? ""))].filter(Boolean).sort();
  const models = [...new Set(listing.runs.map((row) => row.model ?? ""))].filter(Boolean).sort();
  const word = /** @type {HTMLSelectElement} */ (el("select", { "aria-label": "Outcome" }, el("option", { value: "" }, "Any outcome"), words.map((one) => el("option", { value: one }, one))));
  const model = /** @type {HTMLSelectElement} */ (el("select", { "aria-label": "Model" }, el("option", { value: "" }, "Any model"), models.map((one) => el("option", { value: one }, one))));
  const status = el("p.soft", { role: "status" });
  const list = el("ul.runs");
  const show = () => {
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
  };
  for (const control of [search, word, model]) control.addEventListener("input", show);
  show();
  void open;
  return el("div.stack", null, el("h1", null, "Runs"), el("div.filters", { role: "search" }, search, word, model), status, list);
};
/** Move the focus in the list. @param {number} step */
const move_in_runs = (step) => {
  const links = [.../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".run-link"))];
  const at = links.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  links[at < 0 ? (step > 0 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, at + step))]?.focus();
};
