"""Commands do what their stage does; a mistake is one message on stderr and exit status 1."""

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

from hone.cli.main import main
from hone.core.files import read_records, write_records
from hone.llm.recorded import RecordedAnswer
from hone.records import Answer, Completion, Language, LLMRequest, Message, Sampling, Solution, Usage

ROOT = Path(__file__).parents[1]


@pytest.fixture
def hone(monkeypatch, capsys, tmp_path):
    """Runs a command in a folder with the table of GPUs alone; gives (exit status, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)
    Path("resources").mkdir()
    Path("resources/hardware").symlink_to(ROOT / "resources/hardware")

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["hone", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            main()
        shown = capsys.readouterr()
        return caught.value.code or 0, shown.out, shown.err

    return command


@pytest.fixture
def request_():
    return LLMRequest(
        provider="vllm", base_url="http://localhost/v1", model="m", messages=(Message(role="user", content="q"),),
        sampling=Sampling(), sample=0,
    )  # fmt: skip


def config(folder):
    values = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    values["llm"] = {
        "services": {"vllm": "http://localhost/v1"},
        "prices": {"openai-api/vllm/m": {"input_usd_per_mtok": 1, "output_usd_per_mtok": 2}},
    }
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(values))
    return path


def test_every_command_has_a_help_text(hone):
    status, out, _ = hone("--help")
    assert status == 0
    for name in (
        "run", "import", "pending", "ledger", "transcript", "judge", "show", "repeatability", "generated",
    ):  # fmt: skip
        assert name in out


def test_the_version_is_the_packages_with_the_commit_where_it_is_known(hone, monkeypatch):
    for known, shown in (("0123456789ab+", " (commit 0123456789ab+)"), ("", "")):
        monkeypatch.setattr("hone.core.code.commit", lambda known=known: known)
        assert hone("--version") == (0, f"hone {version('hone')}{shown}\n", "")


def test_a_variable_named_version_does_not_replace_a_command(hone, monkeypatch):
    monkeypatch.setenv("HONE_VERSION", "1")
    assert "Print the first lines of a kernel" in hone("launcher", "--help")[1]


@pytest.mark.parametrize(
    ("words", "completed"),
    [("hone laun", "launcher"), ("hone run --exp", "--experiment"), ("hone operator li", "list")],
)
def test_a_shell_completes_commands_and_options(hone, monkeypatch, words, completed):
    monkeypatch.setenv("_HONE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    assert hone()[:2] == (0, f"{completed}\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "--config", "none.yaml"], ["none.yaml", "no such config file"]),
        (["run", "--configfile", "none.yaml"], ["none.yaml", "no such config file"]),
        (["operator", "choose", "--configfile", "none.yaml"], ["none.yaml", "no such config file"]),
        (["show"], ["results/config: no such run", "folder of the checkout"]),
        (["ledger", "--config", "none.yaml"], ["none.yaml"]),
        (["repeatability", "a", "b", "--output", "c.csv"], ["a/traces: holds no verdicts"]),
        (["transcript", "none.jsonl", "--output", "t.jsonl", "--label", "x"], ["none.jsonl: no such file"]),
    ],
)
def test_a_mistake_is_one_message(hone, arguments, words):
    status, _, err = hone(*arguments)
    assert status == 1
    assert err.startswith("error: ")
    for word in words:
        assert word in err


def test_run_refuses_a_wrong_option_before_anything_starts(hone, tmp_path):
    path = config(tmp_path)
    status, _, err = hone("run", "--config", path, "--experiment", "one_shoot")
    assert status == 1
    assert "did you mean 'one_shot'" in err
    status, _, err = hone("run", "--config", path, "--model", "gpt-4o")
    assert status == 1
    assert f"{path} with --model: experiments.astra.models: 'gpt-4o'" in err
    assert "openai/<model>" in err
    assert not Path("results").exists()


def test_run_hands_the_options_to_the_pipeline(tmp_path):
    for name in ("Snakefile", "workflow", "config", "resources", "profiles", "src"):
        (tmp_path / name).symlink_to(ROOT / name)
    script = "import sys; sys.argv[0] = 'hone'; from hone.cli.main import main; main()"
    options = {
        "experiment": "one_shot", "limit": 2, "model": "openai-api/here/m", "model-base-url": "http://localhost:9/v1",
        "max-connections": 3, "max-retries": 0, "timeout": 9.5, "top-p": 0.9,
    }  # fmt: skip
    given = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    command = [sys.executable, "-c", script, "run", *given, "--dry-run"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    values = json.loads((tmp_path / "results/config/config.yaml").read_text())
    assert list(values["experiments"]) == ["one_shot"]
    assert values["experiments"]["one_shot"]["limit"] == 2
    assert values["experiments"]["one_shot"]["sampling"]["top_p"] == 0.9
    asked = {"base_url": "http://localhost:9/v1", "concurrency": 3, "max_attempts": 1, "timeout_s": 9.5}
    assert {name: values["llm"].get(name) for name in asked} == asked
    assert "generate" in done.stdout + done.stderr


def test_answers_of_the_batch_api_end_in_the_ledger(hone, request_, tmp_path):
    path = config(tmp_path)
    folder = tmp_path / "results/config/pending/one"
    write_records(folder / "000.requests.jsonl", [request_])
    status, out, _ = hone("pending", "all.jsonl", "--config", path)
    assert (status, out) == (0, "1 requests in all.jsonl\n")
    body = {
        "model": "m-1", "choices": [{"message": {"role": "assistant", "content": "a"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30},
    }  # fmt: skip
    line = {"custom_id": request_.key, "response": {"status_code": 200, "body": body}, "error": None}
    Path("answers.jsonl").write_text(json.dumps(line) + "\n" + '{"custom_id": "cut')
    status, out, _ = hone("import", "answers.jsonl", "--config", path)
    assert status == 1
    assert "imported 1" in out
    assert "answers.jsonl:2" in out
    status, out, _ = hone("ledger", "--config", path)
    assert status == 0
    assert "openai-api/vllm/m" in out
    assert hone("ledger", "--check", "--config", path)[:2] == (0, "1 entries in .hone/ledger, 0 of them damaged\n")
    assert hone("pending", "more.jsonl", "--config", path)[1] == "0 requests in more.jsonl\n"


def test_what_an_import_lacks_is_named(hone, tmp_path):
    path = config(tmp_path)
    status, _, err = hone("import", "nofile", "--config", path)
    assert status == 1
    assert "nofile: no such file\n  remedy: name the output file of the Batch API" in err
    Path("answers.jsonl").touch()
    status, _, err = hone("import", "answers.jsonl", "--config", path)
    assert status == 1
    assert "results/config/pending: there are no exported requests\n  remedy: write requests there with" in err


def test_a_batch_file_goes_to_one_model(hone, request_, tmp_path):
    path = config(tmp_path)
    other = request_.model_copy(update={"model": "n"})
    write_records(tmp_path / "results/config/pending/000.requests.jsonl", [request_, other])
    status, _, err = hone("pending", "all.jsonl", "--config", path)
    assert status == 1
    assert "--model" in err
    assert (
        hone("pending", "one.jsonl", "--config", path, "--model", "openai-api/vllm/n")[1] == "1 requests in one.jsonl\n"
    )


def test_a_damaged_ledger_entry_is_found(hone, tmp_path):
    path = config(tmp_path)
    entry = tmp_path / ".hone/ledger/ab" / f"{'ab' * 32}.json"
    entry.parent.mkdir(parents=True)
    entry.write_text('{"schema_version": 1, "key":')
    status, out, _ = hone("ledger", "--check", "--config", path)
    assert status == 1
    assert entry.name in out
    assert "1 entries in .hone/ledger, 1 of them damaged" in out


def test_a_transcript_keeps_answers_and_no_prompts(hone, request_):
    completion = Completion(
        key=request_.key, request=request_, response="the answer", finish_reason="stop", model_returned="m",
        usage=Usage(output_tokens=2), cost_usd=0.1, price_source="x", latency_s=1.0, created_at="2026-01-01T00:00:00Z",
    )  # fmt: skip
    answer = Answer(
        experiment="e", model="openai-api/vllm/m", definition="d", role="coder", turn=1, sample=2, prompt_digest="p",
        completion=completion,
    )  # fmt: skip
    write_records(Path("answers.jsonl"), [answer])
    assert hone("transcript", "answers.jsonl", "--output", "t.jsonl", "--label", "a person")[0] == 0
    (row,) = read_records(Path("t.jsonl"), RecordedAnswer)
    assert (row.definition, row.turn, row.sample, row.response) == ("d", 1, 2, "the answer")
    assert row.model_label == "a person"
    assert '"messages"' not in Path("t.jsonl").read_text()


def test_a_triton_file_is_judged_as_triton(hone, definition, tmp_path):
    known = definition.model_copy(update={"name": "miniature/level1/1_Bias", "source": "miniature"})
    write_records(Path("results/config/definitions/miniature/level1.jsonl"), [known])
    source = "class ModelNew:\n    pass\n"
    for name in ("kernel.triton.py", "kernel.txt"):
        Path(name).write_text(source)
    arguments = ("--definition", known.name, "--config", config(tmp_path), "--json")
    status, out, err = hone("judge", "kernel.triton.py", *arguments)
    solution = Solution(definition=known.name, language=Language.TRITON, entry_point="ModelNew", source=source)
    assert (status, json.loads(out)["solution"]) == (1, solution.id), err  # no GPU: not judged, which is not `passed`
    status, _, err = hone("judge", "kernel.txt", *arguments)
    assert status == 1
    assert "kernel.txt: the name ends in none of .triton.py, .cu, .cpp, .py" in err


def test_a_solution_of_the_results_is_judged_by_its_id(hone, definition, tmp_path):
    known = definition.model_copy(update={"name": "miniature/level1/1_Bias", "source": "miniature"})
    write_records(Path("results/config/definitions/miniature/level1.jsonl"), [known])
    solution = Solution(definition=known.name, language=Language.CUDA, entry_point="launch", source="no C++")
    write_records(Path("results/config/solutions/e/m/turn0/000.jsonl"), [solution])
    status, out, err = hone("judge", solution.id[:12], "--config", config(tmp_path), "--again", "--json")
    assert (status, json.loads(out)["solution"]) == (1, solution.id), err
    err = hone("judge", "0123456789ab", "kernel.cu", "--config", config(tmp_path))[2]
    assert "no solution in results has this id" in err
    assert "neither a file nor the id of a solution" in err


def test_several_kernels_have_a_verdict_each_in_their_order(hone, definition, tmp_path):
    known = definition.model_copy(update={"name": "miniature/level1/1_Bias", "source": "miniature"})
    write_records(Path("results/config/definitions/miniature/level1.jsonl"), [known])
    for name in ("b.cu", "a.cu"):
        Path(name).write_text(f"// definition: {known.name}\nno C++ {name}\n")
    status, out, err = hone("judge", "b.cu", "a.cu", "--config", config(tmp_path))
    assert status == 1, err
    named = [line for line in out.splitlines() if line.startswith(("a.cu", "b.cu"))]
    assert [line.partition(":")[0] for line in named] == ["b.cu", "a.cu"]
    assert out.count(known.name) == 2


def test_what_cannot_be_judged_is_said_and_the_others_have_their_verdicts(hone, definition, tmp_path):
    known = definition.model_copy(update={"name": "miniature/level1/1_Bias", "source": "miniature"})
    write_records(Path("results/config/definitions/miniature/level1.jsonl"), [known])
    for name, text in {
        "good.cu": f"// definition: {known.name}\nno C++\n", "empty.cu": "\n",
        "typo.cu": "// definition: miniature/level1/1_Bais\n",
    }.items():  # fmt: skip
        Path(name).write_text(text)
    Path("folder.cu").mkdir()
    given = ("empty.cu", "typo.cu", "good.cu", "folder.cu", "--config", config(tmp_path))
    status, out, err = hone("judge", *given)
    assert status == 1
    assert out.startswith("good.cu: ")
    assert "empty.cu: the file is empty" in err
    assert "typo.cu: results/config/definitions: no definition 'miniature/level1/1_Bais'; did you mean" in err
    assert "folder.cu: is a folder" in err


def test_a_file_may_name_its_own_definition(hone, tmp_path):
    Path("kernel.cu").write_text("// definition: miniature/level1/99_None\n")
    err = hone("judge", "kernel.cu", "--config", path := config(tmp_path))[2]
    assert "kernel.cu: results/config/definitions: no definition 'miniature/level1/99_None'" in err
    assert f"`snakemake definitions --cores 2 --configfile {path}`" in err
    Path("kernel.cu").write_text("// definition: mine/level1/1_Tanh\n")
    err = hone("judge", "kernel.cu", "--config", path)[2]
    assert f"{path}: kernel.cu is for the source 'mine', which the config does not have" in err
    assert "remedy: name the config that has it with --config" in err
    Path("kernel.cu").write_text("// nothing\n")
    assert "give --definition, or a comment" in hone("judge", "kernel.cu", "--config", config(tmp_path))[2]


def test_generated_files_are_written_where_they_are_read(hone, tmp_path):
    status, _, err = hone("generated")
    assert status == 1
    assert f"{tmp_path}: no checkout of Hone" in err
    assert not (tmp_path / "config").exists()
    Path("Snakefile").touch()
    assert hone("generated")[0] == 0
    assert (tmp_path / "config/schema/config.schema.json").read_text() == (
        ROOT / "config/schema/config.schema.json"
    ).read_text()
    assert (tmp_path / "docs/records/trace.md").is_file()
