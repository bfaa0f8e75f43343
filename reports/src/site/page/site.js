"use strict";
for (const control of document.querySelectorAll(".search")) control.hidden = false;

const update = (table) => {
  const search = document.querySelector(`[data-filters="${table.id}"]`);
  const only = document.querySelector(`[data-only="${table.id}"]`);
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  let all = 0;
  for (const row of table.tBodies[0].rows) {
    if (row.className === "subject") continue;
    const text = row.textContent.toLowerCase();
    const fits = words.every((word) => text.includes(word)) && !(only?.checked && "clean" in row.dataset);
    row.hidden = !fits;
    shown += fits;
    all += 1;
  }
  const output = search.closest(".search").querySelector("output");
  output.textContent = shown === all ? "" : `${shown} of ${all} rows`;
};

for (const control of document.querySelectorAll("[data-filters], [data-only]")) {
  const table = document.getElementById(control.dataset.filters ?? control.dataset.only);
  control.addEventListener("input", () => update(table));
}
