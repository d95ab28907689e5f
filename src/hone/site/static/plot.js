// Plots by Plotly, in the page's own colours; the library comes once the page stands.
"use strict";
(() => {
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const drawn = new Set();
  hone.colour = (index) => style(`--series-${(index % 8) + 1}`);

  hone.plot = (label, build, { height = 340 } = {}) => {
    const element = hone.h("div", { class: "plot", role: "img", "aria-label": label, style: `min-height: ${height}px` });
    const draw = () => {
      const { data, layout } = build();
      const axis = { gridcolor: style("--line"), zerolinecolor: style("--line-strong"), linecolor: style("--line-strong"),
        automargin: true, };
      const full = {
        height, margin: { l: 56, r: 18, t: legend(data, layout) ? 44 : 14, b: 46 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
        font: { family: style("--font"), size: 13, color: style("--ink-2") }, hovermode: "closest",
        colorway: Array.from({ length: 8 }, (_, index) => hone.colour(index)),
        legend: { orientation: "h", yref: "container", y: 0.985, yanchor: "top", x: 0, font: { size: 12.5 } }, ...layout,
        hoverlabel: { bgcolor: style("--panel"), bordercolor: style("--line-strong"), font: { color: style("--ink") } },
      };
      for (const name of Object.keys(full)) if (/^[xy]axis\d*$/.test(name)) full[name] = { ...axis, ...full[name], title: { text: full[name].title, standoff: 8, font: { size: 13 } } };
      // Text of models and configs reaches Plotly as plain text: it reads a small markup of its own.
      Plotly.react(element, data.map((trace) => ({ ...trace, name: plain(trace.name) })), full,
        { responsive: true, displaylogo: false, displayModeBar: false });
    };
    hone.library("plotly.js").then(() => {
      // Once it has its width.
      requestAnimationFrame(() => { draw(); element.dataset.drawn = "1"; });
      drawn.add(draw);
      if (build.click) element.on?.("plotly_click", build.click);
    });
    return element;
  };
  const legend = (data, layout) => layout.showlegend !== false && data.filter((trace) => trace.showlegend !== false).length > 1;
  // Ends of a logarithmic axis, as Plotly wants them.
  hone.logRange = (values) => {
    const known = values.filter((value) => value > 0);
    return [Math.log10(Math.min(...known) / 1.25), Math.log10(Math.max(...known) * 1.25)];
  };
  const plain = (text) => (text === undefined ? undefined : String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;"));
  hone.plain = plain;
  addEventListener("themechange", () => drawn.forEach((draw) => { try { draw(); } catch { /* its page is gone */ } }));
})();
