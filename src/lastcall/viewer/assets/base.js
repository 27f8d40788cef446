// What every page has: light or dark by the button. Values never become markup: textContent only.
/** @param {string} name @returns {string | null} */
const kept = (name) => {
  try { return localStorage.getItem(name); } catch { return null; }
};
/** @param {string} name @param {string} value */
const keep = (name, value) => {
  try { localStorage.setItem(name, value); } catch { /* a page from a file may not be allowed to */ }
};
const THEMES = ["system", "light", "dark"];
/** @param {string} theme */
const show_theme = (theme) => {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  const button = document.getElementById("theme");
  if (button) {
    const word = { system: "Auto", light: "Light", dark: "Dark" }[theme] ?? "Auto";
    button.textContent = word;
    button.setAttribute("aria-label", `${word}: change the colours`);
  }
};
{
  const stored = kept("lastcall-theme") ?? "system";
  let theme = THEMES.includes(stored) ? stored : "system";
  show_theme(theme);
  document.getElementById("theme")?.addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "system";
    keep("lastcall-theme", theme);
    show_theme(theme);
  });
}
