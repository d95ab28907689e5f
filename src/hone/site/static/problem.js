// One problem: what must be computed, on which workloads, and all answers to it.
"use strict";
(() => {
  const { h } = hone;
  hone.page(async (state, content, fresh) => {
    if (!hone.isId(state.id)) throw new Error("The address names no problem.");
    const [problem, table] = await Promise.all([hone.load(`problems/${state.id}`), hone.load("answers")]);
    if (!fresh()) return;
    hone.title(hone.words(problem.title));
    const rows = hone.unpack(table).filter((row) => row.definition === problem.name);
    hone.fill(content, 
      h("p", { class: "lead" }, `${problem.source}, level ${problem.level}, number ${problem.number} · `, h("code", {}, problem.name)),
      problem.soundness.map((flag) => h("p", { class: "warning", role: "note" }, h("strong", {}, hone.words(flag.flag)), `: ${flag.detail} `, h("span", { class: "quiet" }, flag.source))),
      h("dl", { class: "facts wide" },
        fact("Inputs", signature(problem.inputs)), fact("Parameters", signature(problem.parameters)), fact("Outputs", signature(problem.outputs)),
        fact("Least bytes moved", hone.bytes(problem.compulsory_bytes)), fact("Operations of products", hone.number(problem.flops)),
        fact("Measured against", problem.baselines.map(hone.words).join(", ")), fact("Languages", problem.languages.join(", ")),
        fact("From", `${problem.upstream.repository}, ${problem.upstream.path}, ${problem.upstream.commit.slice(0, 12)}`)),
      h("section", {}, h("h2", {}, "Answers"), rows.length ? answers(rows, table.baselines) : h("p", { class: "quiet" }, "Nobody was asked.")),
      h("section", {}, h("h2", {}, "Workloads"), workloads(problem)),
      h("section", {}, h("h2", {}, "Statement"), hone.source(problem.reference, "Reference")),
      Object.entries(problem.kernels).map(([name, lines]) => h("section", {}, h("h2", {}, `Existing kernel: ${name}`), hone.source(lines, name))));
  });
  const fact = (name, text) => (text ? [h("dt", {}, name), h("dd", {}, text)] : []);
  const signature = (list) => list.map((item) => `${item.name}: ${item.dtype}${item.shape.length ? `[${item.shape.join(", ")}]` : ""}${item.in_place ? ", in place" : ""}`).join("; ");

  function answers(rows, baselines) {
    const timed = baselines.filter((name) => rows.some((row) => hone.isNumber(row[`speedup_${name}`])));
    return hone.table([
      { title: "Model", value: (row) => row.model, show: (row) => [h("a", { href: hone.address("answer", { id: row.id }) }, hone.soft(row.model)), h("small", {}, row.experiment, row.label ? ` · ${row.label}` : "")] },
      { title: "Verdict", value: (row) => row.status, show: (row) => hone.badge(row.status, row.category) },
      ...timed.map((name) => ({ title: `Over ${hone.words(name)}`, number: true, value: (row) => row[`speedup_${name}`], show: (row) => h("span", { class: row.findings ? "doubtful" : null }, hone.times(row[`speedup_${name}`])) })),
      { title: "Turn", number: true, value: (row) => row.turn, show: (row) => String(row.turn) },
      { title: "Sample", number: true, value: (row) => row.sample, show: (row) => String(row.sample) },
      { title: "Time in ms", number: true, value: (row) => row.latency_ms, show: (row) => hone.number(row.latency_ms, 4) },
    ], rows, { label: "Answers to this problem", order: timed.length ? [[2, "desc"]] : [] });
  }
  function workloads(problem) {
    if (!problem.workloads.length) return h("p", { class: "quiet" }, "None.");
    return h("div", { class: "scroll" }, h("table", { class: "board" },
      h("thead", {}, h("tr", {}, ["Name", "Sizes", "Type", "Tolerance", "Least bytes moved", "Floor"].map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, problem.workloads.map((item) => h("tr", {},
        h("th", { scope: "row" }, item.name, item.held_out ? h("small", {}, "held out") : null),
        h("td", {}, Object.entries(item.axes).map(([name, value]) => `${name} ${value.toLocaleString("en")}`).join(", ")),
        h("td", {}, item.dtype), h("td", {}, `${item.tolerance.atol} + ${item.tolerance.rtol} × |expected|`),
        h("td", {}, hone.bytes(item.moved_bytes)),
        h("td", {}, Object.entries(item.floors).map(([device, value]) => h("div", {}, `${hone.ms(value)}`, h("small", {}, device))), Object.keys(item.floors).length ? "" : h("span", { class: "quiet" }, "not known here")))))));
  }
})();
