// Where values come from: the page itself, or the server that served it, with a token that the user typed.
const TOKEN = "lastcall-token";
class Refused extends Error {}
class Source_ {
  /** @param {Source} source */
  constructor(source) {
    this.base = source.base ?? "";
    this.bearer = Boolean(source.bearer);
  }
  /** @param {string} path @param {AbortSignal} [signal] @returns {Promise<Response>} */
  async get(path, signal) {
    /** @type {Record<string, string>} */
    const headers = {};
    let token = null;
    try { token = sessionStorage.getItem(TOKEN); } catch { /* none kept */ }
    if (this.bearer && token) headers.Authorization = `Bearer ${token}`;
    const answer = await fetch(`${this.base}${path}`, { headers, signal: signal ?? null, credentials: "same-origin", cache: "no-store" });
    if (answer.status === 401 || answer.status === 403) throw new Refused("The server wants a token.");
    if (!answer.ok) throw new Error(`The server answered ${answer.status}.`);
    return answer;
  }
  /** @returns {Promise<Listing>} */
  async listing() {
    return (await this.get("/stories")).json();
  }
  /** The story of a session: whole first, then what changes. Ends when the run has, or `signal` says so.
   * @param {string} id @param {AbortSignal} signal @returns {AsyncGenerator<Changes>} */
  async *story(id, signal) {
    const answer = await this.get(`/stories/${encodeURIComponent(id)}`, signal);
    if (!answer.body) return;
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      rest += value ?? "";
      const blocks = rest.split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        const text = block.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trimStart()).join("\n");
        if (text) yield JSON.parse(text);
      }
      if (done) return;
    }
  }
}
/** Ask for a token and keep it for this tab. @param {() => void} then @returns {HTMLElement} */
const ask_token = (then) => {
  let before = null;
  try { before = sessionStorage.getItem(TOKEN); } catch { /* none kept */ }
  const input = /** @type {HTMLInputElement} */ (el("input", { type: "password", autocomplete: "off", "aria-label": "Token" }));
  const button = el("button", { type: "button" }, "Look");
  const take = () => {
    try { sessionStorage.setItem(TOKEN, input.value.trim()); } catch { /* then for one request only */ }
    then();
  };
  button.addEventListener("click", take);
  input.addEventListener("keydown", (event) => { if (event.key === "Enter") take(); });
  queueMicrotask(() => input.focus());
  return el("div.card.ask", null, el("h1", null, "A token, please"), el("p", null, "This server shows runs to those who have one. It stays in this tab."),
    before ? el("p.file-note", { role: "alert" }, "The last token was not accepted.") : null, el("div.filters", null, input, button));
};
