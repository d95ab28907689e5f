// All trajectories: problems that were answered in several turns.
"use strict";
(() => {
  const { h } = hone;
  hone.page(async (state, content, fresh) => {
    const all = await hone.load("trajectories");
    if (!fresh()) return;
    if (!all.length) { hone.fill(content, h("p", {}, "No experiment of this run has several turns.")); return; }
    const names = (name) => [...new Set(all.map((item) => item[name]))];
    const shown = all.filter((item) => ["experiment", "model"].every((name) => !state[name] || item[name] === state[name]));
    const last = (item) => item.best.at(-1);
    hone.fill(content, 
      h("div", { class: "filters" }, hone.select("experiment", "Experiment", names("experiment"), state.experiment || "", { all: "all" }), hone.select("model", "Model", names("model"), state.model || "", { all: "all" })),
      hone.table([
        { title: "Problem", value: (row) => row.definition, show: (row) => h("a", { href: hone.address("trajectory", { id: row.id }) }, hone.shortName(row.definition)) },
        { title: "Model", value: (row) => row.model, show: (row) => [...hone.soft(row.model), h("small", {}, row.experiment)] },
        { title: "Turns", number: true, value: (row) => row.best.length, show: (row) => String(row.best.length) },
        { title: "Answers", number: true, value: (row) => row.nodes.length, show: (row) => String(row.nodes.length) },
        { title: "Verdicts by turn", value: (row) => row.nodes.map((node) => node.status).join(" "), show: (row) => h("span", { class: "dots" }, row.nodes.map((node) => h("a", { class: `dot ${node.category}`, href: hone.address("answer", { id: node.id }), title: `turn ${node.turn}, sample ${node.sample}: ${hone.words(node.status)}`, "aria-label": `turn ${node.turn}, sample ${node.sample}: ${hone.words(node.status)}` }))) },
        { title: "Best speedup", number: true, value: last, show: (row) => [hone.times(last(row)), h("small", {}, hone.isNumber(last(row)) ? `over ${hone.words(row.baseline)}` : "")] },
      ], shown, { label: "Trajectories" }));
  });
})();
