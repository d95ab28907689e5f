// What every page shares: data on demand, elements from text, state in the address, numbers for people.
"use strict";
const hone = (() => {
  const known = new Map();
  const waiting = new Map();

  // Data are scripts that call `put`: a browser fetches no JSON from a disk.
  function put(name, value) { known.set(name, value); }
  function load(name) {
    if (!waiting.has(name)) {
      waiting.set(name, new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.src = `data/${name}.js`;
        script.onload = () => (known.has(name) ? resolve(known.get(name)) : reject(new Error(`${name} holds no data`)));
        script.onerror = () => reject(new Error(`There is no ${name} in this site.`));
        document.head.append(script);
      }));
    }
    return waiting.get(name);
  }
  function library(file) {
    const name = `assets/${file}`;
    if (!waiting.has(name)) {
      waiting.set(name, new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.src = name;
        script.onload = resolve;
        script.onerror = () => reject(new Error(`${name} is missing`));
        document.head.append(script);
      }));
    }
    return waiting.get(name);
  }

  // An element; strings become text, never markup.
  function h(tag, attributes = {}, ...children) {
    const made = tag === "svg" || tag.startsWith("svg:")
      ? document.createElementNS("http://www.w3.org/2000/svg", tag.replace("svg:", ""))
      : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value === null || value === undefined || value === false) continue;
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
    return made;
  }

  // State lives behind the address's #, so that it works from a disk, too, and the back button undoes a filter.
  const state = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  function address(page, values) {
    const kept = Object.entries(values).filter(([, value]) => value !== "" && value !== null && value !== undefined);
    const text = new URLSearchParams(kept).toString();
    return text ? `${page}.html#${text}` : `${page}.html`;
  }
  function change(values, { replace = false } = {}) {
    const target = address(document.body.dataset.page, { ...state(), ...values });
    const hash = target.includes("#") ? target.slice(target.indexOf("#")) : "#";
    if (hash === (location.hash || "#")) return;
    if (replace) { history.replaceState(null, "", hash); dispatchEvent(new HashChangeEvent("hashchange")); }
    else location.hash = hash;
  }
  const isId = (text) => /^[0-9a-f]{12}$/.test(text || "");

  // A page is a function of the state; it runs again when the state changes.
  function page(render) {
    const content = document.getElementById("content");
    let turn = 0;
    const run = async () => {
      const mine = ++turn;
      const fresh = () => mine === turn;
      const focused = document.activeElement?.id;
      try { await render(state(), content, fresh); }
      catch (error) {
        if (fresh()) content.replaceChildren(h("p", { class: "warning", role: "alert" }, String(error.message || error)));
        console.error(error);
      }
      if (fresh() && focused && document.activeElement === document.body) document.getElementById(focused)?.focus();
      if (fresh()) { document.body.dataset.ready = String(mine); performance.mark("ready"); }
    };
    addEventListener("hashchange", run);
    run();
  }
  function title(text, node) {
    document.title = `${text} · ${document.title.split(" · ").slice(-2).join(" · ")}`;
    document.getElementById("title").replaceChildren(...(node ? [node] : [text]));
  }

  const fill = (element, ...parts) => element.replaceChildren(...parts.flat(Infinity).filter((part) => part !== null && part !== undefined && part !== ""));

  const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
  function number(value, digits = 3) {
    if (!isNumber(value)) return "";
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size >= 1e6 || size < 1e-4) return value.toExponential(2).replace("e+", "e");
    if (size >= 1000) return Math.round(value).toLocaleString("en");
    return String(Number(value.toPrecision(digits)));
  }
  const percent = (value) => (isNumber(value) ? `${(100 * value).toFixed(value > 0 && value < 0.095 ? 1 : 0)} %` : "?");
  const times = (value) => (isNumber(value) ? `${number(value)}×` : "");
  const ms = (value) => (isNumber(value) ? `${number(value, 4)} ms` : "");
  function bytes(value) {
    if (!isNumber(value)) return "";
    const units = ["B", "kB", "MB", "GB", "TB"];
    let size = value; let unit = 0;
    while (size >= 1000 && unit < units.length - 1) { size /= 1000; unit += 1; }
    return `${number(size)} ${units[unit]}`;
  }
  const words = (text) => String(text).replaceAll("_", " ");
  const shortName = (definition) => definition.split("/").slice(1).join("/").replace(/^level/, "L").replaceAll("_", " ");

  // Long names may break after their marks.
  const soft = (text) => String(text).split(/(?<=[_/\-.:])/).flatMap((part, at) => (at ? [h("wbr"), part] : [part]));

  function badge(status, category, extra = "") {
    return h("span", { class: `badge ${category || "unresolved"}` }, words(status), extra);
  }
  // Long text whole, but not all at once.
  function long(text, { lines = 40, label = "Text" } = {}) {
    const parts = text.split("\n");
    const block = h("pre", { tabindex: "0", role: "region", "aria-label": label });
    if (parts.length <= lines + 10) { block.textContent = text; return block; }
    block.textContent = parts.slice(0, lines).join("\n");
    const more = h("button", { type: "button", class: "more", onclick: () => { block.textContent = text; more.remove(); } },
      `Show all ${parts.length.toLocaleString("en")} lines`);
    return h("div", {}, block, more);
  }
  function copyable(text) {
    const button = h("button", { type: "button", class: "copy", onclick: async () => {
      try { await navigator.clipboard.writeText(text); button.textContent = "Copied"; }
      catch { getSelection().selectAllChildren(code); button.textContent = "Selected"; }
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    } }, "Copy");
    const code = h("code", {}, text);
    return h("div", { class: "command" }, code, button);
  }
  function details(summary, build, open = false) {
    const box = h("details", {}, h("summary", {}, summary));
    const fill = () => { if (box.open && box.childElementCount === 1) box.append(build()); };
    box.addEventListener("toggle", fill);
    if (open) { box.open = true; fill(); }
    return box;
  }
  function record(item, name) {
    return details([`${name} `, h("code", { class: "quiet" }, item.where || "")],
      () => long(JSON.stringify(item.record, null, 2), { lines: 60, label: `Record: ${name}` }));
  }
  function select(name, label, options, value, { all = null } = {}) {
    const box = h("select", { id: `filter-${name}`, onchange: () => change({ [name]: box.value }) },
      all === null ? null : h("option", { value: "" }, all),
      options.map((item) => {
        const [key, text] = Array.isArray(item) ? item : [item, words(item)];
        return h("option", { value: key, selected: String(key) === String(value) }, text);
      }));
    return h("label", { class: "filter", for: `filter-${name}` }, h("span", {}, label), box);
  }
  // Rows of a columnar table, as objects made when they are asked for.
  function unpack(table) {
    const at = (index) => {
      const row = {};
      for (const [name, { values, codes }] of Object.entries(table.texts)) row[name] = values[codes[index]];
      for (const [name, column] of Object.entries(table.numbers)) row[name] = column[index];
      for (const [name, column] of Object.entries(table.flags)) row[name] = Boolean(column[index]);
      return row;
    };
    return Array.from({ length: table.rows }, (_, index) => at(index));
  }

  document.querySelector("nav [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });
  document.getElementById("skip").addEventListener("click", () => document.getElementById("main").focus());
  return { put, load, library, h, fill, state, address, change, isId, page, title, isNumber, number, percent, times, ms, bytes,
    words, shortName, soft, badge, long, copyable, details, record, select, unpack };
})();
