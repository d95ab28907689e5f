"""Fetching an archive: its answers at the pinned commit, each with its problem and claim, and what is left out."""

from __future__ import annotations

import logging

from hone.config.archives import Archive, LeaderboardArchive, ScoredLinesArchive
from hone.sources import git
from hone.sources.archives.answer import ArchivedAnswer, Gathered, SkippedAnswer, admit, counts
from hone.sources.archives.reading import Repository
from hone.sources.archives.runs import read_runs
from hone.sources.archives.tables import read_leaderboard, read_scored_lines

FETCH_TIMEOUT_S = 1800.0


def fetch(
    name: str, archive: Archive, *, timeout_s: float = FETCH_TIMEOUT_S
) -> tuple[list[ArchivedAnswer], list[SkippedAnswer]]:
    """Answers of the config's archive `name` by level, number and model, and those that are left out.

    Raises SourceError when the repository cannot be read, or has no such commit, run or file.
    """
    with git.snapshot(archive.url, archive.commit, timeout_s) as bare:
        answers, skipped = admit(_gather(Repository(name, archive, bare, timeout_s), archive))
    told = (name, len(answers), len(skipped), counts(skipped))
    logging.getLogger(__name__).warning("archive %s: %d answers; left out %d: %s", *told)
    return answers, skipped


def _gather(repository: Repository, archive: Archive) -> Gathered:
    if isinstance(archive, ScoredLinesArchive):
        return read_scored_lines(repository, archive)
    if isinstance(archive, LeaderboardArchive):
        return read_leaderboard(repository, archive)
    return read_runs(repository, archive)
