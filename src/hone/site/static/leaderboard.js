// Models by level: fast_p at a threshold, with its interval; a cell leads to the answers behind it.
"use strict";
(() => {
  const { h } = hone;
  const FILTERS = [["subset", "Problems"], ["baseline", "Faster than"], ["clock", "Clock"], ["rule", "Rule"]];
  const NAMES = {
    clock: { judge: "the judge’s own", kernelbench: "KernelBench’s loop" },
    rule: { hone: "Hone: all checks", kernelbench: "KernelBench: tolerance alone" },
    subset: { all: "all", sound: "those without a known defect" },
  };
  const unique = (values) => [...new Set(values)];

  hone.page(async (state, content, fresh) => {
    const [curves, answers] = await Promise.all([hone.load("leaderboard"), hone.load("answers")]);
    if (!fresh()) return;
    if (!curves.length && !answers.rows) { hone.fill(content, h("p", {}, "No model was asked in this run. See ", h("a", { href: "tables.html" }, "all tables"), ".")); return; }
    const parts = [];
    if (curves.length) parts.push(...board(curves, state));
    if (answers.rows) parts.push(others(hone.unpack(answers), curves));
    hone.fill(content, ...parts);
  });

  function board(curves, state) {
    const ps = unique(curves.flatMap((curve) => curve.points.map((point) => point.p))).sort((a, b) => a - b);
    const chosen = {};
    const filters = FILTERS.map(([name, label]) => {
      const values = unique(curves.map((curve) => curve[name]));
      chosen[name] = values.includes(state[name]) ? state[name] : values[0];
      return hone.select(name, label, values.map((value) => [value, NAMES[name]?.[value] || hone.words(value)]), chosen[name]);
    });
    const p = ps.includes(Number(state.p)) ? Number(state.p) : ps.includes(1) ? 1 : ps[0];
    const rows = curves.filter((curve) => FILTERS.every(([name]) => curve[name] === chosen[name]));
    const levels = unique(rows.map((row) => row.level)).sort();
    const output = h("output", { for: "p" }, said(p));
    const slider = h("input", { type: "range", id: "p", min: 0, max: ps.length - 1, step: 1, value: ps.indexOf(p),
      "aria-valuetext": said(p), oninput: () => { output.textContent = said(ps[slider.value]); },
      onchange: () => hone.change({ p: ps[slider.value] }) });
    return [
      h("p", { class: "lead" }, "Share of problems whose kernel is correct and more than ", h("i", {}, "p"),
        " times as fast as the baseline. The whisker is its interval. A cell leads to its answers."),
      h("div", { class: "filters" }, h("label", { class: "filter slider", for: "p" }, h("span", {}, "Threshold ", h("i", {}, "p")), slider, output), filters),
      table(rows, levels, p), notes(rows), curvesPlot(rows, levels),
    ];
  }
  const said = (p) => (p === 0 ? "0: correct" : p === 1 ? "1: faster" : `${p}: more than ${p} times as fast`);

  function table(rows, levels, p) {
    const groups = new Map();
    for (const row of rows) {
      const key = `${row.experiment}\n${row.model}`;
      if (!groups.has(key)) groups.set(key, { ...row, cells: {} });
      groups.get(key).cells[row.level] = row;
    }
    const value = (group) => levels.reduce((sum, level) => sum + (point(group.cells[level], p)?.value ?? -1), 0);
    const ordered = [...groups.values()].sort((a, b) => value(b) - value(a));
    return h("div", { class: "scroll" }, h("table", { class: "board" },
      h("caption", { class: "hidden" }, `fast_p at p = ${p}`),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Model"), h("th", { scope: "col" }, "Method"),
        levels.map((level) => h("th", { scope: "col" }, `Level ${level}`)))),
      h("tbody", {}, ordered.map((group) => h("tr", {},
        h("th", { scope: "row" }, hone.soft(group.model), h("small", {}, group.experiment)),
        h("td", { class: "quiet" }, hone.words(group.method), h("small", {}, group.statistic)),
        levels.map((level) => cell(group.cells[level], p)))))));
  }
  const point = (row, p) => row?.points.find((item) => item.p === p);

  function cell(row, p) {
    const found = point(row, p);
    if (!found) return h("td", { class: "quiet" }, "—");
    const text = hone.isNumber(found.value) ? hone.percent(found.value) : "open";
    const bounds = `${hone.percent(found.low)} to ${hone.percent(found.high)}`;
    const link = hone.address("answers", { experiment: row.experiment, model: row.model, level: row.level });
    return h("td", {}, h("a", { class: "score", href: link, "aria-label": `${text} of ${row.n} problems, interval ${bounds}: show the answers` },
      h("strong", {}, text), whisker(found),
      h("small", {}, `${row.n} problem${row.n === 1 ? "" : "s"}${found.unresolved ? `, ${found.unresolved} unresolved` : ""}`,
        hone.isNumber(found.published) ? h("span", { title: found.published_source }, ` · paper ${hone.percent(found.published)}`) : null)));
  }
  function whisker({ value, low, high }) {
    const at = (share) => (2 + 96 * share).toFixed(2);
    return h("svg", { class: "whisker", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
      h("svg:line", { x1: 2, x2: 98, y1: 5, y2: 5, class: "track" }),
      h("svg:line", { x1: at(low), x2: at(high), y1: 5, y2: 5, class: "range" }),
      hone.isNumber(value) ? h("svg:line", { x1: at(value), x2: at(value), y1: 1, y2: 9, class: "value" }) : null);
  }
  function notes(rows) {
    const differing = rows.reduce((sum, row) => sum + row.prompt_differs, 0);
    const doubtful = rows.reduce((sum, row) => sum + row.doubtful, 0);
    const notes = [];
    if (rows.some((row) => row.model.startsWith("recorded/"))) notes.push("Models named recorded/… replay committed transcripts. What they reach is no model’s result.");
    if (doubtful) notes.push(`${doubtful} correct answers have a doubtful time: not faster at any p above 0.`);
    if (differing) notes.push(`${differing} recorded answers belong to a prompt that has changed since.`);
    notes.push("“open”: an answer has no verdict. The whisker then says what the share would be if all such answers failed or succeeded.");
    return h("div", { class: "notes" }, notes.map((text) => h("p", { class: "quiet" }, text)),
      h("p", { class: "quiet" }, "The numbers stand in ", h("a", { href: "tables.html#name=kernelbench_fast_p" }, "kernelbench_fast_p"), "."));
  }
  function curvesPlot(rows, levels) {
    const shown = rows.filter((row) => row.points.length > 1);
    if (!shown.length) return h("div");
    const models = unique(shown.map((row) => `${row.model}, ${row.experiment}`));
    const boxes = levels.filter((level) => shown.some((row) => row.level === level)).map((level) => h("figure", {},
      h("figcaption", {}, `Level ${level}`),
      hone.plot(`fast_p over p, level ${level}`, () => ({
        data: shown.filter((row) => row.level === level).map((row) => {
          const colour = hone.colour(models.indexOf(`${row.model}, ${row.experiment}`));
          return { x: row.points.map((item) => item.p), y: row.points.map((item) => item.value), mode: "lines+markers",
            name: `${row.model}, ${row.experiment}`, line: { color: colour, dash: ["solid", "dash", "dot"][Math.floor(models.indexOf(`${row.model}, ${row.experiment}`) / 8) % 3] }, marker: { color: colour, size: 6 },
            error_y: { type: "data", symmetric: false, array: row.points.map((item) => item.high - item.value),
              arrayminus: row.points.map((item) => item.value - item.low), thickness: 1, width: 3, color: colour },
            hovertemplate: "p = %{x}: %{y:.0%}<extra>%{fullData.name}</extra>" };
        }),
        layout: { xaxis: { title: "p" }, yaxis: { title: "share of problems", range: [-0.03, 1.03], tickformat: ".0%" } },
      }))));
    return h("section", {}, h("h2", {}, "Over all thresholds"), h("div", { class: "plots" }, boxes));
  }

  // Experiments that fast_p is not made for: rounds, references, files and archives.
  function others(rows, curves) {
    const covered = new Set(curves.map((curve) => `${curve.experiment}\n${curve.model}`));
    const groups = new Map();
    for (const row of rows) {
      const key = `${row.experiment}\n${row.model}\n${row.level}`;
      if (covered.has(`${row.experiment}\n${row.model}`)) continue;
      if (!groups.has(key)) groups.set(key, { ...row, n: 0, correct: 0, unresolved: 0 });
      const group = groups.get(key);
      group.n += 1; group.correct += row.category === "correct"; group.unresolved += row.category === "unresolved";
    }
    if (!groups.size) return h("div");
    return h("section", {}, h("h2", {}, "Other experiments"),
      h("p", { class: "quiet" }, "Existing kernels improved in rounds, references judged as answers, files and archives. Each version counts as an answer."),
      h("div", { class: "scroll" }, h("table", { class: "board" },
        h("thead", {}, h("tr", {}, ["Model", "Method", "Level", "Answers", "Correct", "Unresolved"].map((text, index) => h("th", { scope: "col", class: index > 2 ? "number" : null }, text)))),
        h("tbody", {}, [...groups.values()].map((group) => {
          const place = { experiment: group.experiment, model: group.model, level: group.level };
          const count = (value, more) => h("td", { class: "number" }, value ? h("a", { href: hone.address("answers", { ...place, ...more }) }, String(value)) : "0");
          return h("tr", {}, h("th", { scope: "row" }, hone.soft(group.model), h("small", {}, group.experiment)), h("td", { class: "quiet" }, hone.words(group.method)),
            h("td", {}, String(group.level)), count(group.n, {}), count(group.correct, { category: "correct" }), count(group.unresolved, { category: "unresolved" }));
        })))));
  }
})();
