// Two sides on the same problems.
"use strict";
(() => {
  const { h } = hone;
  const name = (side) => `${side.model}, ${side.experiment}, level ${side.level}`;
  hone.page(async (state, content, fresh) => {
    const { run, sides, pairs } = await hone.load("compare");
    if (!fresh()) return;
    if (!pairs.length) { hone.fill(content, h("p", {}, "No two sides of this run were asked the same problems.")); return; }
    const byKey = new Map(sides.map((side) => [side.key, side]));
    const runs = new Set(sides.map((side) => side.run));
    const full = (side) => `${runs.size > 1 ? `${side.run}: ` : ""}${name(side)} (over ${hone.words(side.baseline)})`;
    const partners = (key) => pairs.filter((pair) => pair.sides.includes(key)).map((pair) => pair.sides.find((one) => one !== key));
    const first = byKey.has(state.a) && partners(state.a).length ? state.a : pairs[0].sides[0];
    const second = partners(first).includes(state.b) ? state.b : partners(first)[0];
    const pair = pairs.find((one) => one.sides.includes(first) && one.sides.includes(second));
    const data = await hone.load(pair.file);
    if (!fresh()) return;
    const turned = data.sides[0] !== first;
    hone.fill(content, 
      h("div", { class: "filters" },
        hone.select("a", "First", sides.filter((side) => partners(side.key).length).map((side) => [side.key, full(side)]), first),
        hone.select("b", "Second", partners(first).map((key) => [key, full(byKey.get(key))]), second)),
      figures(data, turned), plot(data, turned, [byKey.get(first), byKey.get(second)]), problems(data, turned, [byKey.get(first), byKey.get(second)], run));
  });
  const axis = (which, side) => hone.plain(`${which}: ${side.model.length > 34 ? `${side.model.slice(0, 33)}…` : side.model}`);
  const swap = (values, turned) => (turned ? [values[1], values[0]] : values);

  function figures(data, turned) {
    const solved = swap(data.solved, turned); const only = swap(data.only, turned);
    const ratio = turned ? 1 / data.ratio : data.ratio;
    const interval = data.interval.every(hone.isNumber) ? (turned ? [1 / data.interval[1], 1 / data.interval[0]] : data.interval) : null;
    return h("ul", { class: "figures" },
      h("li", {}, h("strong", {}, `${solved[0]} : ${solved[1]}`), " problems solved by any answer", h("small", {}, `of ${data.problems.length} that both were asked`)),
      h("li", {}, h("strong", {}, `${only[0]} : ${only[1]}`), " solved alone", h("small", {}, `p = ${hone.number(data.p_value, 2)}, McNemar’s exact test`)),
      hone.isNumber(ratio) && data.ratio ? h("li", {}, h("strong", {}, hone.times(ratio)), " second over first", h("small", {}, interval ? `${hone.number(interval[0])} to ${hone.number(interval[1])}, problems resampled` : "too few problems for an interval")) : null);
  }
  function plot(data, turned, sides) {
    const both = data.problems.filter((item) => item.best.every(hone.isNumber));
    if (!both.length) return h("p", { class: "quiet" }, "No problem has a credited time on both sides.");
    return h("section", {}, h("h2", {}, "Best speedups, problem by problem"), h("div", { class: "narrow" }, hone.plot("Best speedup of the first side against that of the second", () => {
      const points = both.map((item) => swap(item.best, turned));
      const ends = [Math.min(...points.flat()) / 1.3, Math.max(...points.flat()) * 1.3];
      return { data: [
        { x: ends, y: ends, mode: "lines", line: { dash: "dot", width: 1, color: hone.colour(7) }, hoverinfo: "skip", showlegend: false },
        { x: points.map(([x]) => x), y: points.map(([, y]) => y), text: both.map((item) => hone.plain(hone.shortName(item.name))), mode: "markers", marker: { size: 9, color: hone.colour(0) }, showlegend: false, hovertemplate: "%{text}<br>%{x:.3g}× and %{y:.3g}×<extra></extra>" }],
      layout: { xaxis: { type: "log", title: axis("first", sides[0]) }, yaxis: { type: "log", title: axis("second", sides[1]) } } };
    }, { height: 420 })));
  }
  function problems(data, turned, sides, run) {
    const value = (item, at) => swap(item.best, turned)[at];
    const show = (item, at) => { const found = value(item, at); const text = hone.isNumber(found) ? hone.times(found) : found;
      return sides[at].run !== run ? text : h("a", { href: hone.address("answers", { definition: item.name, experiment: sides[at].experiment, model: sides[at].model }) }, text); };
    return h("section", {}, h("h2", {}, "Problems"), hone.table([
      { title: "Problem", value: (row) => row.name, show: (row) => h("a", { href: hone.address("problem", { id: row.id }) }, hone.shortName(row.name)) },
      { title: name(sides[0]), number: true, value: (row) => value(row, 0), show: (row) => show(row, 0) },
      { title: name(sides[1]), number: true, value: (row) => value(row, 1), show: (row) => show(row, 1) },
      { title: "Second over first", number: true, value: (row) => value(row, 1) / value(row, 0), show: (row) => hone.times(value(row, 1) / value(row, 0)) },
    ], data.problems, { label: "Problems that both sides were asked" }));
  }
})();
