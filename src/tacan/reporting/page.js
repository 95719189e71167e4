"use strict";
(() => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
  const name = () => {
    button.textContent = dark() ? "Light" : "Dark";
    button.setAttribute("aria-label", dark() ? "Switch to the light theme" : "Switch to the dark theme");
  };
  const remembered = (value) => {
    try { // a browser may refuse storage to pages from disk
      if (value) localStorage.setItem("tacan-theme", value);
      return localStorage.getItem("tacan-theme");
    } catch { return null; }
  };
  const before = remembered();
  if (before === "dark" || before === "light") root.dataset.theme = before;
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    remembered(root.dataset.theme);
    name();
  });
  system.addEventListener("change", name);
  name();

  const key = (cell) => {
    const text = cell.dataset.order ?? cell.textContent.trim();
    const value = Number(text);
    return text !== "" && Number.isFinite(value) ? value : text;
  };
  const compare = (a, b) => {
    const numbers = [typeof a === "number", typeof b === "number"];
    if (numbers[0] && numbers[1]) return a - b;
    if (numbers[0] !== numbers[1]) return numbers[0] ? -1 : 1;
    return String(a).localeCompare(String(b), undefined, { numeric: true });
  };
  document.querySelectorAll("table.sortable").forEach((table) => {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      head.querySelector("button").addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const body = table.tBodies[0];
        const rows = [...body.rows];
        rows.sort((a, b) => (down ? -1 : 1) * compare(key(a.cells[column]), key(b.cells[column])));
        rows.forEach((row) => body.append(row));
      });
    });
  });

  const tip = document.getElementById("tip");
  const show = (point) => {
    tip.textContent = point.dataset.tip;
    const mark = (point.querySelector(":not(.hit)") || point).getBoundingClientRect();
    const box = tip.getBoundingClientRect();
    const x = Math.max(6, Math.min(mark.left + mark.width / 2 - box.width / 2, window.innerWidth - box.width - 6));
    const above = mark.top - box.height - 8;
    tip.style.left = `${x}px`;
    tip.style.top = `${above < 4 ? Math.min(mark.bottom, mark.top + 30) + 8 : above}px`;
    tip.style.visibility = "visible";
  };
  const hide = () => { tip.style.visibility = "hidden"; };
  document.querySelectorAll("[data-tip]").forEach((point) => {
    point.addEventListener("pointerenter", () => show(point));
    point.addEventListener("pointerleave", hide);
    point.addEventListener("pointerdown", () => show(point));
    point.addEventListener("focus", () => show(point));
    point.addEventListener("blur", hide);
  });
  window.addEventListener("scroll", hide, { passive: true });
})();
