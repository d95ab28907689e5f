// Answers to read, each with why it was chosen, what became of it, and a link to its page.
"use strict";
(() => {
  const { h } = hone;
  hone.page(async (state, content, fresh) => {
    const parts = await hone.load("cases");
    if (!fresh()) return;
    hone.fill(content, parts.length ? parts.map(part) : h("p", {}, "This run has no answer with a verdict by our rule."));
  });

  const part = ({ title, rule, cases }) => h("section", {}, h("h2", {}, title), h("p", { class: "quiet" }, rule), cases.map(shown));

  function shown(row) {
    const name = `${hone.shortName(row.definition)}, ${row.model}`;
    const over = `over ${hone.words(row.baseline)}`;
    const speeds = [[row.claimed_speedup, "claimed", "over PyTorch eager, on the archive’s machine"],
      [row.as_published_speedup, "by KernelBench’s loop", `${over}, host work included`], [row.device_speedup, "by the judge’s clock", over]];
    return h("article", { class: "talk" },
      h("h3", {}, row.answer ? h("a", { href: hone.address("answer", { id: row.answer }) }, name) : name),
      h("div", { class: "verdict-line" }, hone.badge(row.status, row.status === "passed" ? "correct" : "wrong"), h("span", {}, row.said.join(" "))),
      row.status_kernelbench && row.status_kernelbench !== row.status ? h("p", {}, `By KernelBench’s rule: ${hone.words(row.status_kernelbench)}.`) : null,
      h("ul", { class: "figures" }, speeds.map(([value, words, small]) => (hone.isNumber(value)
        ? h("li", {}, h("strong", {}, hone.times(value)), ` ${words}`, h("small", {}, small)) : null))),
      row.detail ? hone.details("Why", () => hone.long(row.detail, { lines: 12, label: "Why" })) : null,
      row.source ? h("p", { class: "quiet" }, h("a", { href: row.source, rel: "noreferrer" }, "Its text in the archive")) : null);
  }
})();
