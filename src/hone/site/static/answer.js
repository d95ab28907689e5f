// One answer: what it is, what became of it and why, what it took, and where each record stands.
"use strict";
(() => {
  const { h } = hone;

  hone.page(async (state, content, fresh) => {
    if (!hone.isId(state.id)) throw new Error("The address names no answer.");
    const answer = await hone.load(`answers/${state.id}`);
    const [own, before] = await Promise.all([
      answer.solution?.text ? hone.load(answer.solution.text) : null, answer.against ? hone.load(answer.against.text) : null]);
    if (!fresh()) return;
    hone.title(hone.shortName(answer.definition));
    hone.fill(content, head(answer), hone.summary(answer), h("nav", { class: "local", "aria-label": "Parts of this page" }, jumps()),
      sources(answer, own, before, state), hone.verdictSection(answer, state), hone.timingSection(answer, state),
      hone.talkSection(answer), hone.buildSection(answer), again(answer), hone.recordSection(answer));
  });

  const PARTS = [["source", "Source"], ["verdict", "Verdict"], ["timing", "Timing"], ["talk", "Prompt and reply"], ["build", "Build"], ["again", "Judge again"], ["records", "Records"]];
  const jumps = () => PARTS.map(([name, text]) => h("button", { type: "button", onclick: () => document.getElementById(name)?.scrollIntoView({ behavior: "smooth" }) }, text));

  function head(answer) {
    const place = { experiment: answer.experiment, model: answer.model };
    const crumbs = [
      h("a", { href: hone.address("answers", place) }, answer.model), ` in ${answer.experiment}`,
      ` · turn ${answer.turn} · sample ${answer.sample}`,
      answer.label ? ` · ${answer.label}` : null,
      " · ", h("a", { href: hone.address("problem", { id: answer.problem_id }) }, "problem"),
      answer.trajectory_id ? [" · ", h("a", { href: hone.address("trajectory", { id: answer.trajectory_id }) }, "trajectory")] : null,
    ];
    return h("p", { class: "lead" }, crumbs);
  }

  function sources(answer, own, before, state) {
    const section = h("section", { id: "source", "aria-labelledby": "source-title" }, h("h2", { id: "source-title" }, "Source"));
    if (answer.origin) section.append(origin(answer.origin));
    if (!own) { if (!answer.solution) section.append(h("p", {}, "This answer has no kernel.")); return section; }
    const views = [["source", "Source"]];
    if (before) views.push(["beside", "Side by side"], ["unified", "Unified"]);
    const narrow = innerWidth < 800;
    const chosen = views.some(([name]) => name === state.view) ? state.view
      : answer.against?.answer ? (narrow ? "unified" : "beside") : "source";
    const change = before ? count(answer.against.opcodes) : null;
    section.append(
      h("div", { class: "switch", role: "group", "aria-label": "View of the source" }, views.map(([name, text]) => h("button", {
        type: "button", id: `view-${name}`, "aria-pressed": String(name === chosen), onclick: () => hone.change({ view: name }) }, text))),
      before ? h("p", { class: "quiet" }, "Beside ", answer.against.answer
        ? h("a", { href: hone.address("answer", { id: answer.against.answer }) }, answer.against.name) : answer.against.name,
      `: ${change.added} lines added, ${change.removed} removed.`) : null,
      chosen === "source" ? hone.source(own.lines, "Source")
        : hone.difference(before.lines, own.lines, answer.against.opcodes, [answer.against.name, "this answer"], chosen === "beside"));
    return section;
  }
  function origin({ repository, commit, path, link, licence }) {
    const where = link ? h("a", { href: link, rel: "noreferrer" }, path) : h("code", {}, `${repository} ${commit.slice(0, 12)} ${path}`);
    return h("p", { class: "quiet" }, licence ? "Published text: " : "The text has no licence, so it is not shown. It stands at ", where, licence ? `, licence ${licence}.` : ".");
  }
  function count(opcodes) {
    let added = 0; let removed = 0;
    for (const [tag, a1, a2, b1, b2] of opcodes) if (tag !== "equal") { removed += a2 - a1; added += b2 - b1; }
    return { added, removed };
  }

  function again(answer) {
    return h("section", { id: "again" }, h("h2", {}, "Judge it again"),
      answer.command ? [h("p", {}, "In the folder of the run:"), hone.copyable(answer.command)] : h("p", {}, "Without a kernel there is nothing to judge."));
  }
})();
