// All answers, filtered by what the address says.
"use strict";
(() => {
  const { h } = hone;
  const FILTERS = [["experiment", "Experiment"], ["model", "Model"], ["level", "Level"], ["category", "Outcome"]];
  let rows = null;

  hone.page(async (state, content, fresh) => {
    const table = await hone.load("answers");
    if (!fresh()) return;
    rows ??= hone.unpack(table);
    const baselines = table.baselines.filter((name) => rows.some((row) => hone.isNumber(row[`speedup_${name}`])));
    const baseline = baselines.includes(state.baseline) ? state.baseline : baselines[0];
    const filters = FILTERS.map(([name, label]) => {
      const values = [...new Set(rows.map((row) => String(row[name])))].sort();
      return hone.select(name, label, values, state[name] || "", { all: "all" });
    });
    filters.push(hone.select("findings", "Time", [["any", "doubtful"], ["none", "beyond doubt"]], state.findings || "", { all: "all" }));
    if (baselines.length > 1) filters.push(hone.select("baseline", "Speedup over", baselines, baseline));
    const search = h("input", { type: "search", id: "q", value: state.q || "", placeholder: "problem, verdict, …",
      onchange: () => hone.change({ q: search.value }) });
    filters.push(h("label", { class: "filter", for: "q" }, h("span", {}, "Search"), search));
    const shown = rows.filter((row) => fits(row, state));
    hone.fill(content, h("div", { class: "filters" }, filters),
      h("p", { class: "quiet", role: "status" }, `${shown.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")} answers`,
        Object.keys(state).length ? [" · ", h("a", { href: "answers.html#" }, "show all")] : null),
      hone.table(columns(baseline), shown, { label: "Answers", searching: false, order: [] }));
  });

  function fits(row, state) {
    if (FILTERS.some(([name]) => state[name] && String(row[name]) !== state[name])) return false;
    if (state.definition && row.definition !== state.definition) return false;
    if (state.prompt_differs && !row.prompt_differs) return false;
    if (state.findings && (state.findings === "any") !== Boolean(row.findings)) return false;
    const words = (state.q || "").toLowerCase().split(/\s+/).filter(Boolean);
    const text = `${row.definition} ${row.model} ${row.experiment} ${row.status} ${row.findings} ${row.label}`.toLowerCase().replaceAll("_", " ");
    return words.every((word) => text.includes(word.replaceAll("_", " ")));
  }

  function columns(baseline) {
    const speedup = `speedup_${baseline}`;
    return [
      { title: "Answer", value: (row) => row.definition, show: (row) => h("a", { href: hone.address("answer", { id: row.id }) }, hone.shortName(row.definition), row.label ? h("small", {}, row.label) : null) },
      { title: "Verdict", value: (row) => row.status, show: (row) => hone.badge(row.status, row.category) },
      { title: baseline ? `Speedup over ${hone.words(baseline)}` : "Speedup", number: true, value: (row) => row[speedup],
        show: (row) => (hone.isNumber(row[speedup]) ? [h("span", { class: row.findings ? "doubtful" : null }, hone.times(row[speedup])),
          hone.isNumber(row[`speedup_low_${baseline}`]) ? h("small", {}, `${hone.number(row[`speedup_low_${baseline}`])} to ${hone.number(row[`speedup_high_${baseline}`])}`) : null] : "") },
      { title: "Model", value: (row) => row.model, show: (row) => [...hone.soft(row.model), h("small", {}, row.experiment)] },
      { title: "Turn", number: true, value: (row) => row.turn, show: (row) => String(row.turn) },
      { title: "Sample", number: true, value: (row) => row.sample, show: (row) => String(row.sample) },
      { title: "Time in ms", number: true, value: (row) => row.latency_ms, show: (row) => hone.number(row.latency_ms, 4) },
      { title: "Findings", value: (row) => row.findings, show: (row) => hone.words(row.findings) },
    ];
  }
})();
