// The filters. The fragment has what they are set to, so that a link can be cited: #?verdict=fail&text=digit
const bar = document.querySelector(".filter-bar");
const entries = [...document.querySelectorAll("[data-entry]")];
const groups = [...document.querySelectorAll(".group, .chapter")];
const NAMES = ["verdict", "level", "operation"];
const texts = new Map();
// The text that a search looks at. The explanation is left out, because many entries share it.
const textOf = (entry) => {
  const explanation = entry.querySelector(".explained")?.textContent ?? "";
  if (!texts.has(entry)) texts.set(entry, entry.textContent.replace(explanation, "").toLowerCase());
  return texts.get(entry);
};
const chosenFilters = () => Object.fromEntries([...new FormData(bar)].map(([name, value]) => [name, value.trim()]).filter(([, value]) => value));
const matches = (entry, chosen) =>
  NAMES.every((name) => !chosen[name] || (entry.dataset[name] || "").split(" ").includes(chosen[name])) &&
  (!chosen.text || chosen.text.toLowerCase().split(/\s+/).every((word) => textOf(entry).includes(word)));
const fold = (group, active) => {
  group.hidden = active && !group.querySelector("[data-entry]:not([hidden])");
  if (group.tagName !== "DETAILS") return;
  if (active && !group.hidden && !group.open) { group.open = true; group.dataset.opened = ""; }
  if (!active && "opened" in group.dataset) { group.open = false; delete group.dataset.opened; }
};
const applyFilters = () => {
  const chosen = chosenFilters(), active = Object.keys(chosen).length > 0, tally = { finding: 0, requirement: 0, exchange: 0 };
  for (const entry of entries) {
    entry.hidden = active && !matches(entry, chosen);
    if (!entry.hidden) tally[entry.dataset.entry] += 1;
  }
  for (const group of groups) fold(group, active);
  const output = bar.querySelector("output");
  output.textContent = active ? output.dataset.said.replace(/\{(\w+)\}/g, (_, sort) => tally[sort]) : "";
};
const setFilters = (chosen) => {
  for (const name of [...NAMES, "text"]) bar.elements[name].value = chosen.get(name) || "";
  applyFilters();
};
const clearFilters = () => setFilters(new URLSearchParams());
const keepFilters = () => {
  const hash = new URLSearchParams(chosenFilters()).toString();
  try { history.replaceState(null, "", hash ? `#?${hash}` : location.pathname + location.search); } catch { /* a page without an address */ }
};
const readFilters = () => { if (location.hash.startsWith("#?")) setFilters(new URLSearchParams(location.hash.slice(2))); };
if (bar) {
  let waiting;
  const soon = () => { clearTimeout(waiting); waiting = setTimeout(() => { applyFilters(); keepFilters(); }, 120); };
  bar.hidden = false;
  bar.addEventListener("input", (event) => { if (event.target.name) soon(); });
  bar.addEventListener("reset", () => setTimeout(() => { applyFilters(); keepFilters(); }));
  bar.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", readFilters);
  readFilters();
}
