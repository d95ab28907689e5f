// The parts of an answer's page that show evidence: summary, verdict, times, conversation, build, records.
"use strict";
(() => {
  const { h } = hone;
  const fact = (name, ...value) => (value.flat().some((item) => item !== null && item !== undefined && item !== "") ? [h("dt", {}, name), h("dd", {}, value)] : []);
  const join = (values) => (values && values.length ? values.map(hone.words).join(", ") : "");

  // A number leads to the records that it comes from.
  const jump = (number, text) => h("button", { type: "button", title: "Show its records", onclick: () => document.getElementById("records").scrollIntoView({ behavior: "smooth" }) }, h("strong", {}, number), text);

  hone.categoryOf = (status) => ({ passed: "correct", not_judged: "unresolved", machine_error: "unresolved", missing: "unresolved", no_code: "no_code", unanswered: "unanswered" }[status] || "wrong");

  hone.summary = (answer) => {
    const speeds = Object.entries(answer.speeds);
    return h("div", { class: "summary" },
      h("div", { class: "verdict-line" }, hone.badge(answer.status, hone.categoryOf(answer.status)), answer.winner ? h("span", { class: "badge winner" }, "winner") : null,
        h("span", {}, answer.said)),
      answer.findings.map(({ name, said }) => h("p", { class: "warning", role: "note" }, h("strong", {}, hone.words(name)), ": ", said, " The time is shown and earns no speedup.")),
      h("ul", { class: "figures" },
        speeds.map(([baseline, cells]) => h("li", {}, jump(hone.times(cells.speedup), ` over ${hone.words(baseline)}`),
          h("small", {}, hone.isNumber(cells.speedup_low) ? `interval ${hone.number(cells.speedup_low)} to ${hone.number(cells.speedup_high)}` : `mean over ${answer.measured_on}`))),
        speeds.map(([baseline, cells]) => (hone.isNumber(cells.as_published) ? h("li", {}, jump(hone.times(cells.as_published), " by KernelBench’s loop"), h("small", {}, `over ${hone.words(baseline)}, host work included`)) : null)),
        hone.isNumber(answer.latency_ms) ? h("li", {}, jump(`${hone.number(answer.latency_ms, 4)} ms`, " a run"), h("small", {}, answer.verdicts.length > 1 ? "mean over workloads" : "median of its samples")) : null,
        answer.claim && hone.isNumber(answer.claim.record.speedup) ? h("li", {}, jump(hone.times(answer.claim.record.speedup), " claimed"), h("small", {}, answer.claim.record.archive)) : null));
  };

  hone.verdictSection = (answer, state) => {
    const section = h("section", { id: "verdict" }, h("h2", {}, "Verdict"));
    if (!answer.verdicts.length) {
      section.append(answer.detail ? hone.long(answer.detail, { label: "Why" }) : "", h("p", { class: "quiet" }, "No verdict stands in the records."));
      return section;
    }
    const chosen = answer.verdicts[Number(state.workload)] || answer.verdicts[0];
    if (answer.verdicts.length > 1) section.append(workloads(answer, chosen, state), h("h3", {}, `How it was judged on ${nameOf(chosen)}`));
    section.append(audit(chosen));
    return section;
  };
  const nameOf = (item) => (item.workload ? item.workload.name : item.record.workload.slice(0, 12));
  function workloads(answer, chosen, state) {
    const baselines = [...new Set(answer.verdicts.flatMap((item) => Object.keys(item.speedups)))];
    return h("div", {}, h("div", { class: "scroll" }, h("table", { class: "board" },
      h("thead", {}, h("tr", {}, ["Workload", "Set", "Verdict", "Time in ms", ...baselines.map((name) => `Over ${hone.words(name)}`)].map((text, at) => h("th", { scope: "col", class: at > 2 ? "number" : null }, text)))),
      h("tbody", {}, answer.verdicts.map((item, at) => h("tr", { class: item === chosen ? "chosen" : null },
        h("th", { scope: "row" }, h("a", { href: hone.address("answer", { ...state, workload: at }), "aria-current": item === chosen ? "true" : null }, nameOf(item)), h("small", {}, item.workload ? sizes(item.workload) : "")),
        h("td", { class: "quiet" }, item.set, item.workload?.held_out ? h("small", {}, "held out") : null),
        h("td", {}, hone.badge(item.record.status, hone.categoryOf(item.record.status))),
        h("td", { class: "number" }, hone.number(item.latency_ms, 4)),
        baselines.map((name) => h("td", { class: "number" }, hone.times(item.speedups[name])))))))));
  }
  const sizes = (workload) => [...Object.entries(workload.axes).map(([name, value]) => `${name} ${value}`), workload.dtype].join(", ");
  hone.sizes = sizes;

  function audit({ record, workload, said }) {
    const { errors, performance, environment, protocol } = record;
    const clock = performance?.clock;
    return h("dl", { class: "facts wide" },
      fact("Verdict", hone.words(record.status), ". ", said),
      fact("By KernelBench’s rule", record.status_as_published ? hone.words(record.status_as_published) : ""),
      record.detail ? fact("Detail", hone.long(record.detail, { lines: 12, label: "Detail" })) : [],
      workload ? fact("Workload", `${workload.name}: ${sizes(workload)}, seed ${workload.seed}, tolerance ${workload.tolerance.atol} + ${workload.tolerance.rtol} × |expected|`) : [],
      errors ? fact("Largest error", `${hone.number(errors.max_abs_error)} absolute, ${hone.number(errors.max_rel_error)} relative; ${(100 * errors.wrong_fraction).toFixed(3)} % of the elements outside the tolerance`) : [],
      errors && hone.isNumber(errors.exact_error) ? fact("Precision", `${hone.number(errors.exact_error)} from the exact result${hone.isNumber(errors.baseline_exact_error) ? `; the baseline’s is ${hone.number(errors.baseline_exact_error)}` : ""}; yardstick: ${hone.words(errors.yardstick || "none")}`) : [],
      fact("Trials", `${protocol.correctness_trials} of correctness on values ${join(protocol.distributions)}; one timed run in ${protocol.audit_every} has its outputs checked`),
      fact("Confinement", join(environment.confinement)),
      performance ? fact("Floor", performance.floor_ms > 0 ? `${hone.number(performance.floor_ms, 4)} ms: the least that this device can need` : "") : [],
      clock ? fact("Clock", `${clock.source}, mode ${clock.mode}, ${clock.runs_per_sample} runs a sample, ${clock.attempts} attempt${clock.attempts === 1 ? "" : "s"}; second clock ${hone.number(clock.solution_wall_ms, 4)} ms`) : [],
      clock ? Object.entries(clock.refused).map(([mode, why]) => fact(`Not timed by ${mode}`, why)) : [],
      clock?.throttled?.length ? fact("Throttled by", join(clock.throttled)) : [],
      performance?.as_published ? fact("KernelBench’s loop", `${hone.number(performance.as_published.solution_ms, 4)} ms, ${Object.entries(performance.as_published.baselines_ms).map(([name, value]) => `${hone.words(name)} ${hone.number(value, 4)} ms`).join(", ")} (${performance.as_published.version})`) : [],
      fact("Protocol", `${protocol.name}, rule ${protocol.rule}, ${protocol.warmup_runs} warm-up and up to ${protocol.timing_runs} timed runs in ${protocol.timing_seconds} s`),
      fact("Seconds by phase", Object.entries(record.phase_s).map(([name, value]) => `${hone.words(name)} ${hone.number(value)}`).join(", ")),
      fact("Machine", [environment.device, `${environment.cores} cores`, `Python ${environment.python}`, `PyTorch ${environment.torch}`, environment.driver, environment.toolchain].filter(Boolean).join(" · ")),
      fact("Judged at", record.judged_at, environment.commit ? `, by commit ${environment.commit}` : ""),
      record.profile ? fact("Profile", hone.details("PyTorch’s operator table", () => hone.long(record.profile, { label: "Profile" }))) : []);
  }

  hone.timingSection = (answer, state) => {
    const section = h("section", { id: "timing" }, h("h2", {}, "Timing"));
    const timed = answer.verdicts.filter((item) => item.record.performance);
    if (!timed.length) { section.append(h("p", { class: "quiet" }, "No times were taken.")); return section; }
    const asked = answer.verdicts[Number(state.workload)];
    const chosen = timed.includes(asked) ? asked : timed[0];
    if (timed.length > 1) section.append(h("div", { class: "filters" }, hone.select("workload", "Workload",
      timed.map((item) => [answer.verdicts.indexOf(item), `${nameOf(item)} (${item.set})`]), answer.verdicts.indexOf(chosen))));
    const { solution, baselines } = chosen.record.performance;
    const sides = [["this answer", solution], ...Object.entries(baselines)];
    section.append(
      h("p", { class: "quiet" }, `Samples in the order in which they were taken; lines are medians. ${chosen.record.performance.clock?.timed_alone?.length ? "Some baselines were timed alone." : "The sides took turns."}`),
      hone.plot("Timing samples of this answer and its baselines", () => ({
        data: sides.flatMap(([name, timing], at) => [
          { x: timing.samples_ms.map((_, index) => index + 1), y: timing.samples_ms, mode: "markers", type: "scatter", name: hone.words(name), legendgroup: name,
            marker: { color: hone.colour(at), size: 6, opacity: 0.75 }, hovertemplate: "%{y:.4g} ms, sample %{x}<extra>%{fullData.name}</extra>" },
          { x: [1, timing.samples_ms.length], y: [timing.latency_ms, timing.latency_ms], mode: "lines", legendgroup: name, showlegend: false, hoverinfo: "skip", line: { color: hone.colour(at), width: 1.5 } },
        ]),
        layout: { xaxis: { title: "sample" }, yaxis: { title: "ms", rangemode: "tozero" } },
      })),
      hone.details("The samples as numbers", () => h("dl", { class: "facts wide" }, sides.map(([name, timing]) =>
        fact(hone.words(name), `median ${hone.number(timing.latency_ms, 4)} ms: `, h("span", { class: "mono" }, timing.samples_ms.map((value) => hone.number(value, 4)).join(" ")))))));
    return section;
  };

  hone.talkSection = (answer) => {
    const section = h("section", { id: "talk" }, h("h2", {}, "Prompt and reply"));
    if (!answer.conversation.length) { section.append(h("p", { class: "quiet" }, "No model was asked for it.")); return section; }
    for (const item of answer.conversation) {
      const { completion } = item.record;
      const { usage } = completion;
      const prompt = h("div", {}, h("p", { class: "quiet" }, "Loading …"));
      section.append(h("article", { class: "talk" },
        h("h3", {}, `Role ${item.record.role}`, item.record.prompt_differs ? h("span", { class: "badge unresolved" }, "prompt differs") : null),
        h("p", { class: "quiet" }, [`${completion.model_returned || completion.request.model}`, ...(usage ? [`${usage.input_tokens.toLocaleString("en")} tokens in`, `${usage.output_tokens.toLocaleString("en")} out`] : ["tokens not counted by the server"]),
          usage && usage.reasoning_tokens ? `${usage.reasoning_tokens.toLocaleString("en")} of them reasoning` : "", `${usage ? "" : "at most "}$${completion.cost_usd.toFixed(4)}`, `${hone.number(completion.latency_s)} s`, `ended by ${completion.finish_reason}`, completion.created_at].filter(Boolean).join(" · ")),
        completion.refusal ? h("p", {}, `The server refused the prompt: ${completion.refusal}`) : null,
        hone.details("Prompt", () => {
          hone.load(item.prompt).then((messages) => prompt.replaceChildren(...messages.map((message) => h("div", {}, h("h4", {}, message.role), hone.long(message.content, { lines: 80, label: `Prompt: ${message.role}` })))));
          return prompt;
        }),
        hone.details("Reply", () => hone.long(item.response, { lines: 80, label: "Reply" })),
        completion.failed_attempts.length ? h("p", { class: "quiet" }, `Failed tries before it: ${completion.failed_attempts.length}.`) : null));
    }
    return section;
  };

  hone.buildSection = (answer) => {
    const section = h("section", { id: "build" }, h("h2", {}, "Build"));
    if (!answer.build) { section.append(h("p", { class: "quiet" }, "Nothing was built.")); return section; }
    const { record } = answer.build;
    section.append(h("dl", { class: "facts wide" },
      fact("Status", hone.words(record.status)), fact("Compiler", record.toolchain), fact("Target", record.target), fact("Seconds", hone.number(record.seconds)),
      record.command.length ? fact("Command", h("span", { class: "mono" }, record.command.join(" "))) : [],
      Object.entries(record.refused).map(([name, why]) => fact(`Refused ${name.slice(0, 8)}`, hone.long(why, { label: "Refused" })))),
    record.resources.length ? h("div", { class: "scroll" }, h("table", { class: "board" },
      h("thead", {}, h("tr", {}, ["Kernel", "Registers", "Shared bytes", "Spilled bytes"].map((text, at) => h("th", { scope: "col", class: at ? "number" : null }, text)))),
      h("tbody", {}, record.resources.map((item) => h("tr", {}, h("th", { scope: "row", class: "mono" }, item.kernel), [item.registers, item.shared_bytes, item.spill_store_bytes + item.spill_load_bytes].map((value) => h("td", { class: "number" }, String(value)))))))) : "",
    record.log ? h("div", {}, h("h3", {}, "Log"), hone.long(record.log, { label: "Log of the build" })) : "");
    return section;
  };

  hone.recordSection = (answer) => {
    const items = [];
    if (answer.candidate) items.push(hone.record(answer.candidate, "Candidate"));
    if (answer.build) items.push(hone.record(answer.build, "Build"));
    for (const item of answer.verdicts) items.push(hone.record(item, `Trace, ${item.set}`));
    for (const item of answer.conversation) items.push(hone.record(item, `Answer, role ${item.record.role}`));
    if (answer.claim) items.push(hone.record(answer.claim, "Claim of the archive"));
    return h("section", { id: "records" }, h("h2", {}, "Records"), h("p", { class: "quiet" }, "Every number of this page comes from these records: file and line, from the folder of the pipeline."), items);
  };
})();
