// Training: the ladder of systems, where an epoch goes, what each stage did when, and kernels beside the GPU's limits.
"use strict";
(() => {
  const { h } = hone;
  const HEADS = { salient_ladder: "Ladder", salient_breakdown: "Where an epoch goes", salient_timeline: "Timeline", device_roofline: "Roofline", salient_scaling: "Scaling" };

  hone.page(async (state, content, fresh) => {
    const names = await hone.load("training");
    const tables = await Promise.all(names.map((name) => hone.load(`tables/${name}`)));
    if (!fresh()) return;
    if (!tables.length) { hone.fill(content, h("p", {}, "Nothing was trained in this run.")); return; }
    const rows = Object.fromEntries(tables.map((table) => [table.name, hone.objects(table)]));
    const graphs = [...new Set(Object.values(rows).flat().map((row) => row.dataset))].filter(Boolean);
    const graph = graphs.includes(state.graph) ? state.graph : graphs[0];
    hone.fill(content, 
      graphs.length > 1 ? h("div", { class: "filters" }, hone.select("graph", "Graph", graphs, graph)) : h("p", { class: "lead" }, `Graph ${graph}`),
      ...tables.map((table) => {
        const chosen = rows[table.name].filter((row) => row.dataset === graph);
        if (!chosen.length) return "";
        return h("section", {}, h("h2", {}, HEADS[table.name]), h("p", { class: "quiet" }, table.said.replaceAll("`", "") || table.title), DRAW[table.name](chosen),
          h("p", { class: "quiet" }, "The numbers stand in ", h("a", { href: hone.address("tables", { name: table.name }) }, table.name), "."));
      }));
  });

  const label = (row) => hone.plain([row.rung || row.system, row.model && row.model !== "sage" ? row.model : "", row.gpus > 1 ? `${row.gpus} GPUs` : "", row.training].filter(Boolean).join(", "));
  const bars = (rows) => ({ barmode: "stack", height: 120 + 34 * rows, yaxis: { autorange: "reversed", automargin: true, type: "category" } });

  const STAGES = ["train", "blocked", "transfer", "prepare"];
  const DRAW = {
    salient_ladder: (rows) => hone.plot("Seconds of an epoch by system", () => {
      const ends = rows.map((row) => row.epoch_s + (row.epoch_std_s || 0));
      return { data: [
        { type: "bar", orientation: "h", y: rows.map(label), x: rows.map((row) => row.epoch_s), marker: { color: hone.colour(0) }, showlegend: false, hovertemplate: "%{y}: %{x:.4g} s<extra></extra>",
          error_x: { type: "data", array: rows.map((row) => row.epoch_std_s), thickness: 1, color: hone.colour(7) } },
        { type: "scatter", mode: "text", y: rows.map(label), x: ends, textposition: "middle right", hoverinfo: "skip", showlegend: false, cliponaxis: false,
          text: rows.map((row) => ` ${hone.number(row.epoch_s)} s${hone.isNumber(row.speedup) ? `, ${hone.times(row.speedup)}` : ""}`) }],
      layout: { ...bars(rows.length), xaxis: { title: "seconds of an epoch", range: [0, 1.3 * Math.max(...ends)] } } };
    }, { height: 120 + 34 * rows.length }),
    salient_breakdown: (rows) => {
      const parts = [["train_s", "train"], ["blocked_s", "waiting for batches"], ["transfer_s", "transfer"], ["prepare_s", "prepare"]];
      return hone.plot("Seconds of an epoch by stage", () => ({
        data: parts.map(([name, text], at) => ({ type: "bar", orientation: "h", name: text, y: rows.map(label), x: rows.map((row) => row[name]), marker: { color: hone.colour(at) }, hovertemplate: "%{y}: %{x:.4g} s<extra>%{fullData.name}</extra>" })),
        layout: { ...bars(rows.length), barmode: "group", height: 140 + 70 * rows.length, xaxis: { title: "seconds, all workers together" } },
      }), { height: 140 + 70 * rows.length });
    },
    salient_timeline: (rows) => {
      const systems = [...new Set(rows.map((row) => `${row.system}, ${row.training}`))];
      return h("div", {}, systems.map((system) => {
        const own = rows.filter((row) => `${row.system}, ${row.training}` === system);
        const lanes = [...new Set(own.map((row) => row.lane))]; const stages = [...new Set(rows.map((row) => row.stage))];
        return h("figure", {}, h("figcaption", {}, system), hone.plot(`Timeline of ${system}`, () => ({
          data: stages.filter((stage) => own.some((row) => row.stage === stage)).map((stage) => {
            const spans = own.filter((row) => row.stage === stage);
            return { type: "bar", orientation: "h", name: stage, y: spans.map((row) => row.lane), base: spans.map((row) => row.start_ms), x: spans.map((row) => row.duration_ms),
              text: spans.map((row) => String(row.batch)), textposition: "none", marker: { color: hone.colour(STAGES.includes(stage) ? STAGES.indexOf(stage) : 4), line: { width: 1, color: "rgba(128,128,128,.5)" } },
              hovertemplate: "batch %{text}: %{x:.4g} ms from %{base:.4g} ms<extra>%{fullData.name}</extra>" };
          }),
          layout: { barmode: "overlay", xaxis: { title: "ms" }, yaxis: { type: "category", automargin: true, categoryarray: lanes.sort().reverse() } },
        }), { height: 130 + 24 * lanes.length }));
      }));
    },
    device_roofline: (rows) => h("div", { class: "narrow" }, hone.plot("Measured time beside the floor", () => {
      const all = rows.flatMap((row) => [row.floor_us, row.measured_us]).filter((value) => value > 0);
      const ends = [Math.min(...all) / 1.5, Math.max(...all) * 1.5];
      const parts = [...new Set(rows.map((row) => row.part))];
      return { data: [{ x: ends, y: ends, mode: "lines", line: { dash: "dot", color: hone.colour(7), width: 1.5 }, name: "the floor itself", hoverinfo: "skip" },
        ...parts.map((part, at) => { const own = rows.filter((row) => row.part === part);
          return { x: own.map((row) => row.floor_us), y: own.map((row) => row.measured_us), text: own.map((row) => hone.plain(row.kernel)), mode: "markers", name: part, marker: { color: hone.colour(at), size: own.map((row) => 7 + 40 * Math.sqrt(row.share || 0)), opacity: 0.75 },
            hovertemplate: "%{text}: %{y:.4g} µs, floor %{x:.4g} µs<extra>%{fullData.name}</extra>" }; })],
      layout: { xaxis: { type: "log", title: "floor in µs", range: hone.logRange(rows.map((row) => row.floor_us)) },
        yaxis: { type: "log", title: "measured in µs", range: hone.logRange(rows.map((row) => row.measured_us)) } } };
    }, { height: 460 })),
    salient_scaling: (rows) => hone.plot("Seconds of an epoch by number of processes", () => {
      const groups = [...new Set(rows.map(label))];
      const systems = [...new Set(rows.map((row) => hone.plain([row.system, row.model, row.batch_size ? `batch ${row.batch_size}` : ""].filter(Boolean).join(", "))))];
      const key = (row) => hone.plain([row.system, row.model, row.batch_size ? `batch ${row.batch_size}` : ""].filter(Boolean).join(", "));
      return groups && { data: systems.map((system, at) => { const own = rows.filter((row) => key(row) === system).sort((a, b) => a.gpus - b.gpus);
        return { x: own.map((row) => row.gpus), y: own.map((row) => row.epoch_s), mode: "lines+markers", name: system, line: { color: hone.colour(at) }, hovertemplate: "%{x} processes: %{y:.4g} s<extra>%{fullData.name}</extra>" }; }),
      layout: { xaxis: { title: "processes", type: "log", dtick: Math.log10(2) }, yaxis: { title: "seconds of an epoch", type: "log" } } };
    }, { height: 420 }),
  };
})();
