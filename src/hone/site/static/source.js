// Source with colours, alone or beside another one.
"use strict";
(() => {
  const { h } = hone;
  const code = (line) => h("code", {}, (line || []).map(([kind, text]) => (kind ? h("span", { class: kind }, text) : text)));

  hone.source = (lines, label, { most = 400 } = {}) => {
    const table = h("table", { class: "source" });
    const add = (from, to) => table.append(...lines.slice(from, to).map((line, index) => h("tr", {},
      h("td", { class: "at", "data-line": from + index + 1 }), h("td", { class: "line" }, code(line)))));
    add(0, most);
    const box = h("div", { class: "source-box", tabindex: "0", role: "region", "aria-label": label }, table);
    if (lines.length <= most) return box;
    const more = h("button", { type: "button", class: "more", onclick: () => { add(most, lines.length); more.remove(); } },
      `Show all ${lines.length.toLocaleString("en")} lines`);
    return h("div", {}, box, more);
  };

  const CONTEXT = 4;
  // Rows of a difference: [kind, line before or null, line after or null], equal stretches folded.
  function rows(opcodes) {
    const found = [];
    opcodes.forEach(([tag, a1, a2, b1, b2], at) => {
      const length = Math.max(a2 - a1, b2 - b1);
      const pairs = Array.from({ length }, (_, index) => [tag, a1 + index < a2 ? a1 + index : null, b1 + index < b2 ? b1 + index : null]);
      if (tag !== "equal" || length <= 2 * CONTEXT + 3) { found.push(...pairs); return; }
      const head = at === 0 ? 0 : CONTEXT; const tail = at === opcodes.length - 1 ? 0 : CONTEXT;
      found.push(...pairs.slice(0, head), ["fold", pairs.slice(head, length - tail)], ...pairs.slice(length - tail));
    });
    return found;
  }

  const number = (value) => h("td", { class: "at", "data-line": value === null ? "" : value + 1 });
  const mark = (kind) => ({ delete: "−", insert: "+" }[kind] || "");
  const side = (value, lines, kind) => [number(value), h("td", { class: `line ${value === null ? "none" : kind}`, "data-mark": mark(value === null ? "" : kind) }, value === null ? "" : code(lines[value]))];

  function beside([kind, a, b], before, after) {
    const left = kind === "equal" ? "" : "delete"; const right = kind === "equal" ? "" : "insert";
    return [h("tr", {}, side(a, before, left), side(b, after, right))];
  }
  function unified(list, before, after) {
    const made = []; let removed = []; let added = [];
    const flush = () => { made.push(...removed, ...added); removed = []; added = []; };
    const row = (a, b, lines, value, kind) => h("tr", {}, number(a), number(b), h("td", { class: `line ${kind}`, "data-mark": mark(kind) }, code(lines[value])));
    for (const [kind, a, b] of list) {
      if (kind === "equal") { flush(); made.push(row(a, b, after, b, "")); continue; }
      if (a !== null) removed.push(row(a, null, before, a, "delete"));
      if (b !== null) added.push(row(null, b, after, b, "insert"));
    }
    flush();
    return made;
  }

  hone.difference = (before, after, opcodes, names, wide) => {
    const body = h("tbody");
    const draw = (list) => (wide ? list.flatMap((item) => beside(item, before, after)) : unified(list, before, after));
    let run = [];
    const flush = () => { body.append(...draw(run)); run = []; };
    for (const item of rows(opcodes)) {
      if (item[0] !== "fold") { run.push(item); continue; }
      flush();
      const line = h("tr", { class: "fold" }, h("td", { colspan: wide ? 4 : 3 },
        h("button", { type: "button", onclick: () => line.replaceWith(...draw(item[1])) }, `${item[1].length} equal lines`)));
      body.append(line);
    }
    flush();
    const head = wide ? h("thead", {}, h("tr", {}, h("th", { colspan: 2, scope: "col" }, names[0]), h("th", { colspan: 2, scope: "col" }, names[1]))) : null;
    const widths = wide ? h("colgroup", {}, ["at", "", "at", ""].map((name) => h("col", { class: name || null }))) : null;
    return h("div", { class: "source-box", tabindex: "0", role: "region", "aria-label": `Difference between ${names[0]} and ${names[1]}` },
      h("table", { class: `source difference${wide ? " wide" : ""}` }, widths, head, body));
  };
})();
