// A link to evidence opens it, also where the browser would leave it folded.
(() => {
  const open = (hash) => {
    const target = hash.length > 1 && document.getElementById(decodeURIComponent(hash.slice(1)));
    if (!target) return;
    for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", () => open(location.hash));
  addEventListener("DOMContentLoaded", () => open(location.hash));
  document.addEventListener("click", (event) => {
    const link = event.target.closest && event.target.closest('a[href^="#"]');
    if (link) open(link.getAttribute("href"));
  });
})();
