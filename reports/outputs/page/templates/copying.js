// Buttons that copy. If the page may not write to the clipboard, as at an http address, the old command copies.
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
  const label = button.textContent;
  if (label === button.dataset.done) return; // it says so already
  button.textContent = button.dataset.done;
  document.getElementById("said").textContent = button.dataset.done;
  setTimeout(() => { button.textContent = label; document.getElementById("said").textContent = ""; }, 1500);
});
