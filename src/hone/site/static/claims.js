// What archives and papers claim beside what was measured here.
"use strict";
(() => {
  const { h } = hone;
  hone.page(async (state, content, fresh) => {
    const [names, curves] = await Promise.all([hone.load("claims"), hone.load("leaderboard")]);
    const tables = Object.fromEntries(await Promise.all(names.map(async (name) => [name, await hone.load(`tables/${name}`)])));
    if (!fresh()) return;
    const parts = [];
    if (tables.published_claims) parts.push(scatter(tables.published_claims));
    if (tables.published_claims_summary) parts.push(h("section", {}, h("h2", {}, "What is left, by archive"), h("p", { class: "quiet" }, tables.published_claims_summary.said), hone.csvTable(tables.published_claims_summary)));
    if (tables.judge_agreement_summary) parts.push(h("section", {}, h("h2", {}, "Verdicts that agree"), h("p", { class: "quiet" }, tables.judge_agreement_summary.said.replaceAll("`", "")), hone.csvTable(tables.judge_agreement_summary)));
    const paper = curves.flatMap((curve) => curve.points.filter((point) => hone.isNumber(point.published)).map((point) => ({ ...curve, ...point })));
    if (paper.length) parts.push(h("section", {}, h("h2", {}, "Papers’ shares beside ours"), h("div", { class: "scroll" }, h("table", { class: "board" },
      h("thead", {}, h("tr", {}, ["Model", "Level", "p", "Published", "Here", "Interval"].map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, paper.map((row) => h("tr", {}, h("th", { scope: "row" }, row.model, h("small", {}, row.published_source)), h("td", {}, row.level), h("td", {}, String(row.p)), h("td", {}, hone.percent(row.published)), h("td", {}, hone.percent(row.value)), h("td", {}, `${hone.percent(row.low)} to ${hone.percent(row.high)}`))))))));
    if (tables.published_claims) parts.push(h("section", {}, h("h2", {}, "Each claim"), hone.csvTable(tables.published_claims)));
    if (tables.judge_agreement) parts.push(h("section", {}, h("h2", {}, "Each verdict"), hone.csvTable(tables.judge_agreement)));
    if (!parts.length) parts.push(h("p", {}, "This run judges no published answers, and no paper printed its experiments’ shares. A config with ", h("code", {}, "archives:"), " judges published answers and fills this page."));
    hone.fill(content, ...parts);
  });

  function scatter(table) {
    const rows = hone.objects(table).map((row, at) => ({ ...row, link: table.links[at] })).filter((row) => hone.isNumber(row.claimed_speedup));
    const series = [["as_published_speedup", "by KernelBench’s loop"], ["device_speedup", "by the device’s clock"]].filter(([name]) => rows.some((row) => hone.isNumber(row[name])));
    return h("section", {}, h("h2", {}, "Claimed against measured speedup"), h("p", { class: "quiet" }, table.said.replaceAll("`", "")),
      h("div", { class: "narrow" }, hone.plot("Claimed speedup against the one measured here", () => {
        const values = rows.flatMap((row) => [row.claimed_speedup, ...series.map(([name]) => row[name])]).filter((value) => value > 0);
        const ends = [Math.min(...values) / 1.3, Math.max(...values) * 1.3];
        return { data: [{ x: ends, y: ends, mode: "lines", line: { dash: "dot", width: 1.5, color: hone.colour(7) }, name: "as claimed", hoverinfo: "skip" },
          ...series.map(([name, text], at) => { const own = rows.filter((row) => hone.isNumber(row[name]) && row.claimed_speedup > 0);
            return { x: own.map((row) => row.claimed_speedup), y: own.map((row) => row[name]), mode: "markers", name: text, text: own.map((row) => hone.plain(`${row.model}, ${hone.shortName(row.definition)}${row.findings ? `, ${row.findings}` : ""}`)),
              marker: { size: 8, opacity: 0.7, color: hone.colour(at), symbol: own.map((row) => (row.findings ? "x" : "circle")) }, hovertemplate: "%{text}<br>claimed %{x:.3g}×, here %{y:.3g}×<extra></extra>" }; })],
        layout: { xaxis: { type: "log", title: "claimed speedup", range: hone.logRange(rows.map((row) => row.claimed_speedup)) },
          yaxis: { type: "log", title: "speedup here", range: hone.logRange(series.flatMap(([name]) => rows.map((row) => row[name]))) } } };
      }, { height: 460 })), h("p", { class: "quiet" }, "A cross marks a time with findings: it earns no speedup here."));
  }
})();
