// All problems, with how many answers are right.
"use strict";
(() => {
  const { h } = hone;
  hone.page(async (state, content, fresh) => {
    const [problems, table] = await Promise.all([hone.load("problems"), hone.load("answers")]);
    if (!fresh()) return;
    const counts = new Map();
    for (const row of hone.unpack(table)) {
      const count = counts.get(row.definition) || { n: 0, correct: 0 };
      count.n += 1; count.correct += row.category === "correct";
      counts.set(row.definition, count);
    }
    const of = (row) => counts.get(row.name) || { n: 0, correct: 0 };
    const sources = [...new Set(problems.map((row) => row.source))];
    const shown = problems.filter((row) => !state.source || row.source === state.source);
    hone.fill(content, 
      sources.length > 1 ? h("div", { class: "filters" }, hone.select("source", "Source", sources, state.source || "", { all: "all" })) : "",
      shown.length ? hone.table([
        { title: "Problem", value: (row) => row.title, show: (row) => (row.id ? h("a", { href: hone.address("problem", { id: row.id }) }, hone.words(row.title)) : hone.words(row.title)) },
        { title: "Source", value: (row) => row.source },
        { title: "Level", number: true, value: (row) => row.level, show: (row) => String(row.level ?? "") },
        { title: "Number", number: true, value: (row) => row.number, show: (row) => String(row.number ?? "") },
        { title: "Workloads", number: true, value: (row) => row.workloads, show: (row) => String(row.workloads) },
        { title: "Answers", number: true, value: (row) => of(row).n, show: (row) => (of(row).n ? h("a", { href: hone.address("answers", { definition: row.name }) }, String(of(row).n)) : "0") },
        { title: "Correct", number: true, value: (row) => of(row).correct, show: (row) => String(of(row).correct) },
        { title: "Remarks", value: (row) => row.reason || (row.sound ? "" : "known defect"), show: (row) => row.reason || (row.sound ? "" : h("span", { class: "badge unresolved" }, "known defect")) },
      ], shown, { label: "Problems" }) : h("p", {}, "This site has no problems."));
  });
})();
