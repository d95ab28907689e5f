// Any table of the run: cells, what the columns mean, and the answer behind a row.
"use strict";
(() => {
  const { h } = hone;
  hone.page(async (state, content, fresh) => {
    const all = await hone.load("tables");
    if (!fresh()) return;
    const chosen = all.find((item) => item.name === state.name);
    if (!chosen) {
      hone.title("Tables");
      hone.fill(content, h("ul", { class: "grid" }, all.map((item) => h("li", {}, h("a", { href: hone.address("tables", { name: item.name }) }, item.title), h("span", { class: "quiet" }, " ", h("code", {}, item.name))))));
      return;
    }
    const table = await hone.load(`tables/${chosen.name}`);
    if (!fresh()) return;
    hone.title(table.title);
    const whole = state.columns === "all";
    hone.fill(content, 
      table.said ? h("p", { class: "lead" }, table.said.replaceAll("`", "")) : "",
      table.caption ? h("p", {}, table.caption.replaceAll("`", "").replaceAll("*", "")) : "",
      h("p", {}, h("a", { href: "tables.html#" }, "All tables"), " · ", h("a", { href: table.file, download: "" }, "CSV"), " · ",
        h("a", { href: hone.address("tables", { name: table.name, columns: whole ? "" : "all" }) }, whole ? "Main columns" : `All ${table.columns.length} columns`)),
      hone.csvTable(table, { whole }),
      hone.details("What the columns mean", () => h("dl", { class: "facts wide" }, table.columns.map((column) => [h("dt", {}, h("code", {}, column.name)), h("dd", {}, column.meaning.replaceAll("`", "") || "—")]))),
      h("p", { class: "quiet" }, "File: ", h("code", {}, table.source)));
  });
})();
