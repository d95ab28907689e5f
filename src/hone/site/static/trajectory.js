// One trajectory: its answers as a tree by turn, and the best that was reached so far.
"use strict";
(() => {
  const { h } = hone;
  const WIDTH = 190; const HEIGHT = 66; const GAP = 46;

  hone.page(async (state, content, fresh) => {
    const item = (await hone.load("trajectories")).find((one) => one.id === state.id);
    if (!fresh()) return;
    if (!item) throw new Error("There is no such trajectory in this site.");
    hone.title(hone.shortName(item.definition));
    hone.fill(content, 
      h("p", { class: "lead" }, `${item.model} in ${item.experiment} · ${hone.words(item.method)} · `, h("a", { href: hone.address("problem", { id: item.problem_id }) }, "problem")),
      h("section", {}, h("h2", {}, "Turns"), h("div", { class: "scroll tree-box", tabindex: "0", role: "region", "aria-label": "Tree of answers" }, tree(item)),
        h("p", { class: "quiet" }, "A line leads from the answer that a turn started from. A ring marks the answer with which the best so far was reached.")),
      item.nodes.some((node) => hone.isNumber(node.speedup)) ? h("section", {}, h("h2", {}, "Best so far"), plot(item)) : "");
  });

  function tree(item) {
    const turns = [...new Set(item.nodes.map((node) => node.turn))].sort((a, b) => a - b);
    const best = bestNodes(item); const rows = placed(item, best);
    const height = (Math.max(...rows) + 1) * (HEIGHT + 14) + 34; const width = turns.length * (WIDTH + GAP);
    const x = (node) => turns.indexOf(node.turn) * (WIDTH + GAP); const y = (at) => rows[at] * (HEIGHT + 14) + 30;
    const lines = item.nodes.map((node, at) => {
      if (node.parent === null) return null;
      const from = item.nodes[node.parent]; const x1 = x(from) + WIDTH; const y1 = y(node.parent) + HEIGHT / 2; const x2 = x(node); const y2 = y(at) + HEIGHT / 2;
      return h("svg:path", { d: `M${x1} ${y1} C${x1 + GAP / 2} ${y1} ${x2 - GAP / 2} ${y2} ${x2} ${y2}`, class: node.kept || best.has(at) ? "edge kept" : "edge" });
    });
    const boxes = item.nodes.map((node, at) => h("a", { class: `node ${node.category}${best.has(at) ? " best" : ""}`, href: hone.address("answer", { id: node.id }),
      style: `left: ${x(node)}px; top: ${y(at)}px; width: ${WIDTH}px; height: ${HEIGHT}px` },
    h("span", {}, hone.badge(node.status, node.category), node.winner ? h("span", { class: "badge winner" }, "winner") : null),
    h("strong", { class: node.findings ? "doubtful" : null }, hone.times(node.speedup) || "—"),
    h("small", {}, node.sample || item.nodes.some((one) => one.turn === node.turn && one.sample) ? `sample ${node.sample}` : "", node.measured_on === "suite" ? " on its suite" : "")));
    return h("div", { class: "tree", style: `width: ${width}px; height: ${height}px` },
      h("svg", { width, height, "aria-hidden": "true" }, lines),
      turns.map((turn, at) => h("div", { class: "turn", style: `left: ${at * (WIDTH + GAP)}px; width: ${WIDTH}px` }, item.method.startsWith("astra") ? (turn ? `round ${turn}` : "existing kernel") : `turn ${turn}`)), boxes);
  }
  // Row of each node: its parent's, so that what was built upon runs straight; what was given up stands below.
  function placed(item, best) {
    const built = item.nodes.some((node) => node.kept);
    const taken = new Map(); const rows = [];
    item.nodes.map((node, at) => [node, at]).sort(([a], [b]) => a.turn - b.turn || a.sample - b.sample).forEach(([node, at]) => {
      const used = taken.get(node.turn) || taken.set(node.turn, new Set()).get(node.turn);
      let row = node.parent === null ? node.sample : rows[node.parent] ?? 0;
      if (built && node.parent !== null && !node.kept && !node.winner && !best.has(at)) row += 1;
      while (used.has(row)) row += 1;
      used.add(row); rows[at] = row;
    });
    return rows;
  }
  function bestNodes(item) {
    const found = new Set();
    item.best.forEach((value, turn) => {
      if (value === null || value === item.best[turn - 1]) return;
      const at = item.nodes.findIndex((node) => node.turn === turn && node.credited === value);
      if (at >= 0) found.add(at);
    });
    return found;
  }
  function plot(item) {
    const timed = item.nodes.filter((node) => hone.isNumber(node.speedup));
    return hone.plot("Speedup by turn and the best so far", () => ({
      data: [
        { x: item.best.map((_, turn) => turn), y: item.best, mode: "lines", line: { shape: "hv", width: 2.5, color: hone.colour(0) }, name: "best so far", hovertemplate: "%{y:.3g}×<extra>best up to turn %{x}</extra>" },
        { x: timed.map((node) => node.turn), y: timed.map((node) => node.speedup), mode: "markers", marker: { size: 9, color: hone.colour(1), symbol: timed.map((node) => (node.findings ? "x" : "circle")) }, name: "answers", hovertemplate: "%{y:.3g}×, turn %{x}<extra></extra>" },
      ],
      layout: { xaxis: { title: "turn", dtick: 1 }, yaxis: { title: `speedup over ${hone.words(item.baseline)}`, rangemode: "tozero" } },
    }));
  }
})();
