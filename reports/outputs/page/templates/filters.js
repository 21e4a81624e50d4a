// The filters. What they are set to stands in the fragment, so that a link can be cited: #?verdict=fail&text=digit
const bar = document.querySelector(".filter-bar");
const entries = [...document.querySelectorAll("[data-entry]")];
const groups = [...document.querySelectorAll(".group, .chapter")];
const NAMES = ["verdict", "level", "operation"];
const texts = new Map();
// what is found, without the explanation, which many entries share
const textOf = (entry) => {
  const explanation = entry.querySelector(".explained")?.textContent ?? "";
  if (!texts.has(entry)) texts.set(entry, entry.textContent.replace(explanation, "").toLowerCase());
  return texts.get(entry);
};
const wanted = () => Object.fromEntries([...new FormData(bar)].map(([name, value]) => [name, value.trim()]).filter(([, value]) => value));
const matches = (entry, asked) =>
  NAMES.every((name) => !asked[name] || (entry.dataset[name] || "").split(" ").includes(asked[name])) &&
  (!asked.text || asked.text.toLowerCase().split(/\s+/).every((word) => textOf(entry).includes(word)));
const fold = (group, active) => {
  group.hidden = active && !group.querySelector("[data-entry]:not([hidden])");
  if (group.tagName !== "DETAILS") return;
  if (active && !group.hidden && !group.open) { group.open = true; group.dataset.opened = ""; }
  if (!active && "opened" in group.dataset) { group.open = false; delete group.dataset.opened; }
};
const applyFilters = () => {
  const asked = wanted(), active = Object.keys(asked).length > 0, tally = { finding: 0, requirement: 0, exchange: 0 };
  for (const entry of entries) {
    entry.hidden = active && !matches(entry, asked);
    if (!entry.hidden) tally[entry.dataset.entry] += 1;
  }
  for (const group of groups) fold(group, active);
  const output = bar.querySelector("output");
  output.textContent = active ? output.dataset.said.replace(/\{(\w+)\}/g, (_, sort) => tally[sort]) : "";
};
const setFilters = (asked) => {
  for (const name of [...NAMES, "text"]) bar.elements[name].value = asked.get(name) || "";
  applyFilters();
};
const clearFilters = () => setFilters(new URLSearchParams());
const keepFilters = () => {
  const hash = new URLSearchParams(wanted()).toString();
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
