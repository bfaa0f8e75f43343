"use strict";
(() => {
  const form = document.getElementById("filters");
  if (!form) return;
  const count = document.getElementById("count");
  const none = document.getElementById("none");
  const controls = [...form.querySelectorAll("input, select")];
  const choices = controls.filter((control) => control.tagName === "SELECT");
  const findings = [...document.querySelectorAll("#findings > tbody")].map((element) => {
    const facts = element.querySelector(".facts");
    return { element, text: (element.rows[0].textContent + " " + facts.textContent).toLowerCase() };
  });
  const number = new Intl.NumberFormat("en-US");

  function filter() {
    const words = form.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = choices.filter((choice) => choice.value !== "");
    let shown = 0;
    for (const { element, text } of findings) {
      const fits = wanted.every((choice) => element.dataset[choice.name] === choice.value)
        && words.every((word) => text.includes(word));
      element.hidden = !fits;
      if (fits) shown += 1;
    }
    const all = number.format(findings.length) + (findings.length === 1 ? " finding" : " findings");
    count.textContent = shown === findings.length ? all : number.format(shown) + " of " + all;
    none.hidden = shown > 0;
  }

  function remember() {
    const state = new URLSearchParams();
    for (const control of controls) if (control.value !== "") state.set(control.name, control.value);
    const hash = state.toString();
    history.replaceState(null, "", location.pathname + location.search + (hash && "#" + hash));
  }

  function set(state) {
    for (const control of controls) {
      control.value = state.get(control.name) || "";
      // a value that no finding has
      if (control.selectedIndex === -1) control.value = "";
    }
    filter();
  }

  function named() {
    const hash = location.hash.slice(1);
    if (!hash.startsWith("finding-")) return null;
    try {
      return document.getElementById(decodeURIComponent(hash));
    } catch {
      return null;
    }
  }

  function follow() {
    const finding = named();
    if (!finding) {
      if (!location.hash.startsWith("#finding-")) set(new URLSearchParams(location.hash.slice(1)));
      return;
    }
    if (finding.hidden) set(new URLSearchParams());
    finding.querySelector("details").open = true;
    finding.scrollIntoView();
  }

  form.addEventListener("input", () => { filter(); remember(); });
  form.addEventListener("reset", () => { setTimeout(() => { filter(); remember(); }); });
  form.addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("hashchange", follow);
  // a second click on the same link changes no hash
  document.getElementById("findings").addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#finding-']");
    if (link && link.hash === location.hash) follow();
  });
  form.hidden = false;
  follow();
})();
