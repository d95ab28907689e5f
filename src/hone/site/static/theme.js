// Dark or light, before the first paint: the reader's choice, else the system's.
"use strict";
(() => {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const stored = () => { try { return localStorage.getItem("hone-theme"); } catch { return null; } };
  const apply = () => {
    document.documentElement.dataset.theme = stored() || (system.matches ? "dark" : "light");
    dispatchEvent(new Event("themechange"));
  };
  system.addEventListener("change", apply);
  apply();
  addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    button.addEventListener("click", () => {
      const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
      try { localStorage.setItem("hone-theme", next); } catch { /* the choice lasts for this page alone */ }
      document.documentElement.dataset.theme = next;
      dispatchEvent(new Event("themechange"));
    });
  });
})();
