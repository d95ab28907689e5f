"""Snakemake's output as one sentence a job: `[ 13/207] judge: Judge the kernels of one_shot …`.

Snakemake finds this package by its name; `logger: hone` in profiles/default turns it on, `--logger` names another.
Errors, warnings and dry runs are as Snakemake writes them; the log under .snakemake/log has everything else, too.
At the end stands once more what failed jobs said, and after an interrupt what to do.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from snakemake.logging import ColorizingTextHandler, DefaultFormatter  # type: ignore[import-untyped]
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

HOUSEKEEPING = (
    LogEvent.JOB_FINISHED,
    LogEvent.JOB_STARTED,
    LogEvent.PROGRESS,
    LogEvent.RESOURCES_INFO,
    LogEvent.WORKFLOW_STARTED,
)
NOISE = re.compile(
    "host: |Building DAG|Using shell|Provided |Rules claiming|Conda environments: ignored|Select jobs|Execute |"
    "Assuming unrestricted|Updating |DAG of jobs|Touching |Activating conda"
)

INTERRUPTED = "Terminating processes on user request"
FAILED = "Exiting because a job execution failed"
LAST = "Complete log"
GO_ON = "Interrupted. The same command goes on from here."


class SentenceFormatter(DefaultFormatter):  # type: ignore[misc]
    """Counts jobs as they start; everything that is no job's start is Snakemake's own."""

    def __init__(self, settings: Any) -> None:
        super().__init__(settings.quiet, settings.show_failed_logs)
        self.dry_run: bool = settings.dryrun
        self.started = 0
        self.total = 0

    def format_run_info(self, message: dict[str, Any]) -> str:
        """How many jobs there are; of a dry run, the table by rule."""
        self.total = message["stats"]["total"]
        return str(message["msg"]) if self.dry_run else f"{self.total} jobs to run"

    def format_job_info(self, message: dict[str, Any]) -> str:
        """A job's number among all, its rule and its sentence; in a dry run its files and reason."""
        if self.dry_run:
            return "\n".join(self._format_job_info(message))
        self.started += 1
        self.total = max(self.total, self.started)  # a checkpoint has added jobs
        digits = len(str(self.total))
        return f"[{self.started:{digits}}/{self.total}] {message['rule_name']}: {message['rule_msg']}"


class LogHandler(LogHandlerBase, ColorizingTextHandler):  # type: ignore[misc]
    """Writes to stderr, or to stdout for a dry run, as Snakemake's own handler does."""

    def __post_init__(self) -> None:
        """Called by the plugin interface once the settings are known."""
        settings = self.common_settings
        stream = sys.stdout if settings.stdout else sys.stderr
        ColorizingTextHandler.__init__(self, nocolor=settings.nocolor, stream=stream)
        self.formatter = self.sentences = SentenceFormatter(settings)
        self.failed: list[tuple[str, Sequence[str]]] = []
        """(rule, its log files) of each failed job."""
        self.interrupted = False

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record, unless it is housekeeping, or an error of a job that an interrupt has ended."""
        event, message = getattr(record, "event", None), record.getMessage()
        if event is LogEvent.JOB_ERROR:
            self.failed.append((record.rule_name, record.log))  # type: ignore[attr-defined]
        if self.interrupted and record.levelno >= logging.ERROR:
            return
        if event is LogEvent.PROGRESS:
            self.sentences.total = max(self.sentences.total, record.total)  # type: ignore[attr-defined]
        if event in HOUSEKEEPING:
            return
        if event is None and record.levelno <= logging.INFO and NOISE.match(message):
            return
        self.last_msg_was_job_info = not self.sentences.dry_run  # no blank line between sentences
        ColorizingTextHandler.emit(self, record)  # the interface, first among the bases, has an empty one
        self.interrupted = self.interrupted or message.startswith(INTERRUPTED)
        if self.interrupted and message.startswith(LAST):
            self._write(GO_ON)
        if message.startswith(FAILED):
            for rule, logs in self.failed:
                for said in said_by(logs):
                    self._write(f"{rule}: {said}")

    def _write(self, line: str) -> None:
        self.stream.write(f"{line}\n")

    @property
    def writes_to_stream(self) -> bool:
        """Replaces Snakemake's own handler."""
        return True

    @property
    def writes_to_file(self) -> bool:
        """The file under .snakemake/log is Snakemake's own."""
        return False

    @property
    def has_filter(self) -> bool:
        """`--quiet` is left to Snakemake's filter."""
        return False

    @property
    def has_formatter(self) -> bool:
        """See SentenceFormatter."""
        return True

    @property
    def needs_rulegraph(self) -> bool:
        """No."""
        return False


def said_by(logs: Sequence[str]) -> Iterator[str]:
    """The expected failures that a job's log files end with, remedies included; see `hone.core.script`."""
    for log in logs:
        with suppress(OSError):
            text = Path(log.partition(" (")[0]).read_text(encoding="utf-8", errors="replace")
            if found := re.search(r"^(error|waiting): .*", text, re.MULTILINE | re.DOTALL):
                yield found[0].rstrip()
