"""What a run prints: a numbered sentence for each job that starts, and whatever is not housekeeping."""

import io
import logging
from types import SimpleNamespace

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

from snakemake_logger_plugin_hone import LogHandler


def record(event=None, message="", level=logging.INFO, **fields):
    made = logging.makeLogRecord({"msg": message, "levelno": level, "levelname": logging.getLevelName(level)})
    made.__dict__.update(fields | ({"event": event} if event else {}))
    return made


def job(rule, sentence):
    return record(
        LogEvent.JOB_INFO, rule_name=rule, rule_msg=sentence, local=True, is_checkpoint=False, input=[], output=["out"],
        log=[], jobid=1, benchmark=None, reason="because", wildcards={}, priority=0, threads=1, resources={},
    )  # fmt: skip


@pytest.fixture
def printed():
    """Prints records as a run, or as a dry run, would; gives the text."""

    def output(*records, dry_run=False):
        settings = SimpleNamespace(quiet=set(), show_failed_logs=False, dryrun=dry_run, nocolor=True, stdout=False)
        handler = LogHandler(settings, None)
        handler.stream = io.StringIO()
        for each in records:
            handler.emit(each)
        return handler.stream.getvalue()

    return output


def test_jobs_are_counted_as_they_start(printed):
    stats = record(LogEvent.RUN_INFO, "the table", stats={"total": 2})
    lines = printed(stats, job("train", "Train a."), job("all", "Done.")).splitlines()
    assert lines == ["2 jobs to run", "[1/2] train: Train a.", "[2/2] all: Done."]


def test_a_checkpoint_adds_to_the_total(printed):
    stats = record(LogEvent.RUN_INFO, stats={"total": 1})
    grown = record(LogEvent.PROGRESS, done=1, total=12)
    assert "[ 2/12] all" in printed(stats, job("gate", "Wait."), grown, job("all", "Done."))


def test_the_number_never_exceeds_the_total(printed):
    assert "[2/2] b: B." in printed(job("a", "A."), job("b", "B."))


def test_housekeeping_is_left_out_and_warnings_are_not(printed):
    quiet = [
        record(event, "x") for event in (LogEvent.JOB_FINISHED, LogEvent.RESOURCES_INFO, LogEvent.WORKFLOW_STARTED)
    ]
    quiet += [
        record(message=text)
        for text in ("Select jobs to execute...", "host: here", "Building DAG of jobs...", "Touching output file a.")
    ]
    assert printed(*quiet) == ""
    assert printed(record(message="host: gone", level=logging.WARNING)) == "host: gone\n"
    assert printed(record(message="Nothing to be done")) == "Nothing to be done\n"


def test_what_failed_jobs_said_stands_at_the_end_once_more(printed, tmp_path):
    log = tmp_path / "job.log"
    log.write_text("on a host\nerror: x.yaml: no such model\n  remedy: name another\n")
    failed = record(
        LogEvent.JOB_ERROR, "Error in rule ask", logging.ERROR, rule_name="ask", rule_msg=None, jobid=1, input=[],
        output=[], log=[str(log), str(tmp_path / "none.log")], conda_env=None, container_img=None, aux={}, indent=False,
        shellcmd=None,
    )  # fmt: skip
    last = record(message="Exiting because a job execution failed. Look above", level=logging.ERROR)
    text = printed(failed, *(job("train", f"Train {name}.") for name in "abc"), last)
    assert text.endswith("Look above\nask: error: x.yaml: no such model\n  remedy: name another\n")


def test_an_interrupt_says_that_the_same_command_goes_on(printed):
    stop = record(message="Terminating processes on user request, this might take some time.")
    died, last = record(message="died with SIGINT", level=logging.ERROR), record(message="Complete log(s): x.log")
    text = printed(job("train", "Train a."), stop, died, last)
    assert "died" not in text
    assert text.splitlines()[-1] == "Interrupted. The same command goes on from here."


def test_a_dry_run_has_files_reasons_and_the_table(printed):
    stats = record(LogEvent.RUN_INFO, "the table", stats={"total": 1})
    text = printed(stats, job("train", "Train a."), dry_run=True)
    for words in ("the table", "localrule train:", "output: out", "reason: because"):
        assert words in text
