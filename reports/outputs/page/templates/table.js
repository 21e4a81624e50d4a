// The table of tests of pytest-html, which is drawn when it is opened. With a keyboard, Enter in the first cell of a row
// does what a click does. The script of pytest-html makes the table anew each time, so that the focus is put back.
document.addEventListener("keydown", (event) => {
  const cell = event.target.closest("#results-table td.col-result");
  if (!cell || event.key !== "Enter") return;
  const row = cell.parentElement.dataset.id;
  cell.click();
  document.querySelector(`#results-table [data-id="${row}"] .col-result`)?.focus();
});
document.getElementById("tests").addEventListener("toggle", () => drawTests(), { once: true });
