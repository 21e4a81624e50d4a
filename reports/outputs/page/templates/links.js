// A link to evidence opens it even if it is folded, and shows it even if a filter hides it.
const reveal = (hash) => {
  let id = hash.slice(1);
  try { id = decodeURIComponent(id); } catch { /* an id that is no escape is itself */ }
  const target = id && document.getElementById(id);
  if (!target) return;
  if (target.closest("[hidden]")) clearFilters();
  for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
  target.scrollIntoView();
};
// On a phone the findings come before the provenance.
if (matchMedia("(max-width: 860px)").matches) document.getElementById("provenance")?.removeAttribute("open");
addEventListener("hashchange", () => reveal(location.hash));
addEventListener("load", () => reveal(location.hash));
document.addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="#"]');
  if (link) reveal(link.getAttribute("href"));
});
