// Before the first paint, so that a dark page never flashes white. A classic script for that reason.
(() => {
  "use strict";
  const ORDER = ["auto", "light", "dark"];
  const WORDS = { auto: "as the system has them", light: "light", dark: "dark" };
  const SIGNS = { auto: "◐", light: "☀", dark: "☾" };
  let chosen = "auto";
  try {
    chosen = ORDER.find((one) => one === localStorage.getItem("dcka-theme")) || "auto";
  } catch { /* a browser that keeps nothing: as the system has it */ }

  function apply() {
    if (chosen === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = chosen;
    const button = document.getElementById("theme");
    if (button) {
      button.textContent = SIGNS[chosen];
      button.setAttribute("aria-label", `Colours: ${WORDS[chosen]}`);
      button.title = `Colours: ${WORDS[chosen]}`;
    }
    window.dispatchEvent(new Event("dcka-theme"));
  }
  apply();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);
  document.addEventListener("DOMContentLoaded", () => {
    apply();
    document.getElementById("theme").addEventListener("click", () => {
      chosen = ORDER[(ORDER.indexOf(chosen) + 1) % ORDER.length];
      try { localStorage.setItem("dcka-theme", chosen); } catch { /* then it lasts as long as the page */ }
      apply();
    });
  });
})();
