// A link to evidence opens it, also where the browser would leave it folded, and shows it, also where a filter hides it.
const reveal = (hash) => {
  let id = hash.slice(1);
  try { id = decodeURIComponent(id); } catch { /* an id that is no escape is itself */ }
  const target = id && document.getElementById(id);
  if (!target) return;
  if (target.closest("[hidden]")) clearFilters();
  for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
  target.scrollIntoView();
};
// On a phone, what was found comes before where the run came from.
if (matchMedia("(max-width: 860px)").matches) document.getElementById("provenance")?.removeAttribute("open");
addEventListener("hashchange", () => reveal(location.hash));
addEventListener("load", () => reveal(location.hash));
document.addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="#"]');
  if (link) reveal(link.getAttribute("href"));
});
