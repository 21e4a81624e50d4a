// Buttons that copy. Where the page may not write to the clipboard (an http address), the old way does.
const copyText = async (text) => {
  try { await navigator.clipboard.writeText(text); } catch {
    const field = document.body.appendChild(Object.assign(document.createElement("textarea"), { value: text }));
    field.select();
    document.execCommand("copy");
    field.remove();
  }
};
document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-copy]");
  if (!button) return;
  await copyText(button.dataset.copy || button.nextElementSibling.textContent);
  const said = button.textContent;
  if (said === button.dataset.done) return;
  button.textContent = button.dataset.done;
  document.getElementById("said").textContent = button.dataset.done;
  setTimeout(() => { button.textContent = said; document.getElementById("said").textContent = ""; }, 1500);
});
