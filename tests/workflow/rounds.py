"""Rounds in a folder of their own: kernels with an existing C++ version, and a server that plays all roles.

The rules of `sources.smk` are replaced by some that copy the definitions, so that nothing is fetched.
"""

import json
import re
import shutil
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import yaml

from hone.core.files import write_records
from hone.records import Argument, Definition, Tolerance, Upstream, Workload
from tests.workflow.conftest import PROBLEM, ROOT, Pipeline

SOURCES = """
rule copy:
    input:
        "given/{kind}.jsonl",
    output:
        paths.level("{kind}"),
    wildcard_constraints:
        kind="definitions|workloads",
    shell:
        "cp {input} {output}"


rule copy_nothing:
    output:
        touch(paths.unsupported()),
"""
KERNEL = """#include <cstdint>
extern "C" void launch(const float* x, float* out, int64_t rows, int64_t cols) {{
    for (int64_t i = 0; i < rows * cols; ++i) {body}
}}
"""
SLOW = KERNEL.format(body="for (int pass = 0; pass < 600; ++pass) { volatile float y = 3 * x[i]; out[i] = y; }")
FAST = KERNEL.format(body="out[i] = 3 * x[i];")
OTHER = KERNEL.format(body="out[i] = x[i] * 3;")
WRONG = KERNEL.format(body="out[i] = 2 * x[i];")
SUITE = '```json\n[{"axes": {"rows": 200, "cols": 96}}, {"axes": {"rows": 333, "cols": 77}}]\n```\n'
ROLES = {
    "You are the tester": "testing", "First of all, choose the": "testing", "You are the profiler": "profiling",
    "You are the planner": "planning", "A team has made": "experience",
}  # fmt: skip
MODEL = "openai-api/fake/writer"


def definition(number):
    """Triples a matrix; the existing kernel does it 600 times over: 8 ms, where a busy machine adds 4 now and then."""
    shape = {"shape": ("rows", "cols"), "dtype": "float32"}
    return Definition(
        name=f"mini/level1/{number}_Triple", source="mini", level=1, number=number, title="Triple",
        axes={"rows": 300, "cols": 512}, inputs=(Argument(name="x", **shape),), parameters=(),
        outputs=(Argument(name="out", **shape),), kernels={"upstream": SLOW}, kernel_language="cpp",
        reference=PROBLEM.format(title=f"Triple {number}", arguments="x", expression="3 * x", count=1),
        baselines=("torch_eager", "upstream"), compulsory_bytes=8 * 300 * 512, flops=0,
        upstream=Upstream(repository="local", commit="local", path="x", sha256="0" * 64),
    )  # fmt: skip


def workloads(name):
    """Two that prompts may show and one that they may not."""
    tolerance = Tolerance(atol=1e-5, rtol=1e-5)
    sizes = {"middle": (300, 512), "small": (64, 80), "odd": (4321, 13)}
    return [
        Workload(
            definition=name, name=title, axes={"rows": rows, "cols": cols}, tolerance=tolerance, held_out=title == "odd"
        )
        for title, (rows, cols) in sizes.items()
    ]


class Server(ThreadingHTTPServer):
    """Answers each role by what its prompt says; `asked` lists (role, round), `code` takes prompt and round."""

    daemon_threads = True

    def __init__(self, code):
        super().__init__(("127.0.0.1", 0), Handler)
        self.code = code
        self.asked = []
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def answer(self, prompt):
        role = next((role for words, role in ROLES.items() if words in prompt), "coding")
        found = re.search(r"Round (\d+)", prompt)
        number = int(found.group(1)) if found and role != "testing" else 0
        self.asked.append((role, number))
        if role == "coding":
            return f"Here it is.\n\n```cpp\n{self.code(prompt, number)}```\n"
        return SUITE if role == "testing" else f"What {role} says in round {number}."


class Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *_):
        """Silence."""

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = {"role": "assistant", "content": self.server.answer(request["messages"][-1]["content"])}
        body = {
            "id": "1", "object": "chat.completion", "created": 1, "model": "writer",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100},
        }  # fmt: skip
        content = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@dataclass
class Rounds(Pipeline):
    """A pipeline whose targets are the evaluations: what tables are made of."""

    url: str = ""

    def write(self, experiments, *, count=1, **changes):
        """The definitions and the config; `experiments`: name -> what differs from `astra` in three turns."""
        items = [definition(number) for number in range(1, count + 1)]
        write_records(self.folder / "given/definitions.jsonl", items)
        write_records(self.folder / "given/workloads.jsonl", [row for item in items for row in workloads(item.name)])
        common = {"method": "astra", "source": "mini", "levels": [1], "models": [MODEL], "language": "cpp", "turns": 3}
        packages = {"own": {"kind": "folder", "path": "given"}}
        values = {
            "sources": {"mini": {"kind": "kernels", "path": "given", "levels": {1: count}, "packages": packages}},
            "experiments": {name: {**common, **differs} for name, differs in experiments.items()},
            "baselines": ["torch_eager", "upstream"],
            "judge": {
                "name": "test", "correctness_trials": 1, "timing_runs": 3, "timing_seconds": 0.05, "warmup_runs": 1,
                "run_timeout_s": 10,
            },
            "llm": {
                "mode": "live", "max_attempts": 1, "services": {"fake": self.url}, "spending_limit_usd": 10,
                "prices": {MODEL: {"input_usd_per_mtok": 1.0, "output_usd_per_mtok": 10.0}},
            },
            **changes,
        }  # fmt: skip
        (self.folder / "tiny.yaml").write_text(yaml.safe_dump(values))

    def path(self, stage, name, turn, batch="000"):
        return f"results/tiny/{stage}/{name}/{MODEL.replace('/', '--')}/turn{turn}/{batch}.jsonl"

    def make(self, *targets, check=True):
        """Run for some files; returns the output."""
        return self.run("--", *targets, check=check)


def make_pipeline(folder, server):
    """Everything of the project but its rules for sources."""
    shutil.copytree(ROOT / "workflow", folder / "workflow")
    shutil.copytree(ROOT / "config", folder / "config")
    shutil.copy(ROOT / "Snakefile", folder)
    for name in ("resources", "profiles", "envs"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "workflow/rules/sources.smk").write_text(SOURCES)
    return Rounds(folder, url=f"http://127.0.0.1:{server.server_port}/v1")
