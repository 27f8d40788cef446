// One session: its runs, the summary of the chosen one, the overview of its time, its rows, its contract.
/** @param {RunFacts} run @param {(place: number) => void} go @returns {Child[]} */
const figures_of = (run, go) => {
  /** @type {[string, Child][]} */
  const facts = [];
  if (run.attempts?.length) {
    facts.push(["Attempts", el("span.dots", null, run.attempts.map((dot) => {
      const button = el(`button.dot.t-${dot.tone}`, { type: "button", title: `Attempt ${dot.n}: ${dot.word}`, "aria-label": `Attempt ${dot.n}: ${dot.word}. Go there` }, dot.n);
      button.addEventListener("click", () => go(dot.place));
      return button;
    }))]);
  }
  if (run.turns) facts.push([run.turns === 1 ? "Turn" : "Turns", count(run.turns)]);
  if (run.calls) facts.push([run.calls === 1 ? "Tool call" : "Tool calls", count(run.calls)]);
  const took = el("span", { id: "took" }, duration(((run.ended_at ?? run.at) - run.at) * 1000));
  facts.push(["Time", took]);
  if (run.input_tokens !== undefined) facts.push(["Tokens in", count(run.input_tokens)]);
  if (run.output_tokens !== undefined) facts.push(["Tokens out", count(run.output_tokens)]);
  if (run.cost_usd !== undefined) facts.push(["Cost", money(run.cost_usd)]);
  if (run.models?.length) facts.push([run.models.length > 1 ? "Models" : "Model", el("span.models", { dir: "auto" }, run.models.join(" \u2192 "))]);
  return [el("dl.facts", null, facts.map(([name, value]) => el("div", null, el("dt", null, name), el("dd", null, value))))];
};
/** Three lanes over the time of the run: the model, tools, attempts. @param {RunFacts} run @param {Entry[]} entries @param {(place: number) => void} go */
const ribbon_of = (run, entries, go) => {
  if (!run.at) return null;
  const spans = entries.filter((entry) => ["turn", "call", "attempt"].includes(entry.kind));
  const end = Math.max(run.ended_at ?? 0, ...spans.slice(-50).map((entry) => entry.at + (entry.took_ms ?? 0) / 1000), run.at + 0.001);
  const whole = end - run.at;
  const box = el("div.ribbon", { "aria-hidden": "true" });
  /** @type {[string, string][]} */
  const names = [["turn", "model"], ["call", "tools"], ["attempt", "attempts"]];
  for (const [kind, name] of names) {
    const lane = el(`div.lane.${kind}`, null, el("span.lane-name", null, name));
    const track = el("div.track");
    /** @type {{left: number, entry: Entry, worst: string} | null} */
    let last = null;
    for (const entry of spans) {
      if (entry.kind !== kind) continue;
      const left = Math.min(99.6, (100 * (entry.at - run.at)) / whole);
      const width = Math.max(kind === "attempt" ? 0 : 0.35, Math.min(100 - left, ((entry.took_ms ?? 0) / 10) / whole));
      if (last && left - last.left < 0.12 && width < 0.4 && (!entry.tone || entry.tone === last.worst)) continue;
      last = { left, entry, worst: entry.tone ?? "" };
      const span = el(`span.span.t-${entry.tone || "plain"}${entry.gone ? ".gone" : ""}`, { title: `${entry.title}${entry.name ? ` ${visible(entry.name)}` : ""}${entry.word ? `: ${visible(entry.word)}` : ""} ${duration(entry.took_ms)}` });
      span.style.left = `${left.toFixed(3)}%`;
      if (kind !== "attempt") span.style.width = `${width.toFixed(3)}%`;
      span.addEventListener("click", () => go(entry.place));
      track.append(span);
    }
    lane.append(track);
    box.append(lane);
  }
  box.append(el("div.scale", null, el("span", null, "0"), el("span", null, duration(whole * 500)), el("span", null, duration(whole * 1000))));
  return box;
};
/** @param {string} title @param {...Child} children */
const side_card = (title, ...children) => el("section.card.side", { "aria-label": title }, el("h2", null, title), ...children);
/** @param {Session} session @param {RunFacts} run @returns {Child[]} */
const sides_of = (session, run) => {
  const facts = session.facts;
  /** @type {[string, string | undefined][]} */
  const about = [
    ["Session", facts.session_id], ["Began", run.at ? moment(run.at) : undefined], ["Model", facts.model], ["Profile", facts.profile],
    ["Directory", facts.cwd], ["lastcall", facts.version], ["Contract", facts.digest ? `${facts.digest.slice(0, 12)}\u2026` : undefined],
  ];
  return [
    run.answer ? side_card(run.answer.label || "The answer", part_of({ ...run.answer, label: "" })) : null,
    run.checks?.length ? side_card("Rules and checks", el("ul.checks", null, run.checks.map((check) => el("li", null,
      chip(check.passed ? "passed" : "failed", check.passed ? "good" : "bad"), " ", el("code", { dir: "auto" }, check.name),
      el("span.soft", null, ` attempt ${check.attempt ?? 0}${check.took_ms ? `, ${duration(check.took_ms)}` : ""}`),
      check.message ? el("div.soft", { dir: "auto" }, check.message) : null)))) : null,
    run.warnings?.length ? side_card("Warnings", el("ul.points", null, run.warnings.map((words) => el("li", { dir: "auto" }, words)))) : null,
    run.effects?.length ? side_card("May have changed things", el("ul.points", null, run.effects.map((words) => el("li", { dir: "auto" }, words)))) : null,
    side_card("About", el("dl.about", null, about.map(([name, value]) => (value ? [el("dt", null, name), el("dd", { dir: "auto" }, value)] : null)))),
  ];
};
/** @param {ContractFacts} contract @returns {HTMLElement} */
const contract_of = (contract) => {
  if (contract.fault) return el("div.card", null, el("p", null, `The recorded schema cannot be read as a contract: ${contract.fault}`));
  const rows = (contract.nodes ?? []).map((node) => {
    const row = el("div.node", { role: "listitem" });
    row.style.setProperty("--d", String(node.depth));
    add(row, [
      el("div.node-head", null,
        node.role && node.role !== "property" ? el("span.role", null, node.role) : null,
        node.name ? el("span.node-name.mono", { dir: "auto" }, node.name) : null,
        node.type ? el("span.node-type", { dir: "auto" }, node.type) : null,
        node.required ? chip("required", "calm") : null,
        el("span.spring"), el("code.soft.pointer", null, node.path || "")),
      node.description ? el("p.soft", { dir: "auto" }, node.description) : null,
      el("ul.keywords", null, (node.keywords ?? []).filter((keyword) => !(keyword.word === "type" && node.type)).map((keyword) => el("li", null,
        el("code.kw", { dir: "auto" }, keyword.word, keyword.value ? el("span.kw-value", null, ` ${keyword.value}`) : null),
        keyword.checked ? el("span.by.here", { title: "The check here enforces it" }, "checked here") : el("span.by.none", null, keyword.note || "not enforced"),
        keyword.checked && keyword.note ? el("span.soft.small", null, keyword.note) : null,
        (keyword.decoders ?? []).map((name) => el("span.by", { title: `The decoder of ${name} keeps to it` }, name))))),
    ]);
    return row;
  });
  return el("div.stack", null,
    el("p.lead", null, "Every keyword that is ", el("span.by.here", null, "checked here"), " is enforced on this machine. The names beside it are decoders that keep the model to it from the start, where the deployment has them."),
    contract.wrapped ? el("p.soft", null, "The root is no object: on the wire it is the property \u201cvalue\u201d of one.") : null,
    contract.without?.length ? el("ul.points.soft", null, contract.without.map((words) => el("li", null, `No strict form for ${words}`))) : null,
    contract.rules?.length ? el("div.card", null, el("h3", null, "Rules and checks beyond the schema"), el("ul.points", null, contract.rules.map((rule) => el("li", { dir: "auto" }, el("code", null, rule))))) : null,
    el("div.card.tree", { role: "list" }, rows));
};
