"""Hostile kernels in the same run change no verdict; a study that shows nothing does not hold."""

import csv

from studies.judge.containment import not_contained


def test_good_kernels_keep_their_verdicts_among_hostile_ones(place, command):
    for name in ("honest.cpp", "segfault.cpp", "endless.cpp"):
        place.kernel(name)
    result = command("containment", "--good", "honest.cpp", "--bad", "segfault.cpp", "--bad", "endl*", *place.options)
    assert result.exit_code == 0, result.output
    with (place.folder / "results/config/studies/containment.csv").open(newline="") as file:
        rows = {row["file"]: row for row in csv.DictReader(file)}
    assert [row["kind"] for row in rows.values()] == ["good", "bad", "bad"]
    assert rows["honest.cpp"]["status_alone"] == rows["honest.cpp"]["status_mixed"] == "passed"
    assert float(rows["honest.cpp"]["speedup_mixed"]) > 0
    assert rows["segfault.cpp"]["status_mixed"] == "runtime_error"
    assert rows["endless.cpp"]["status_mixed"] == "timeout"
    assert rows["endless.cpp"]["status_alone"] == ""


def row(kind, alone, mixed):
    return {"file": "f", "kind": kind, "status_alone": alone, "status_mixed": mixed}


def test_a_changed_verdict_and_a_missing_one_fail_the_study():
    assert not not_contained([row("good", "passed", "passed"), row("bad", None, "timeout")])
    assert not not_contained([row("good", "wrong_value", "wrong_value")])
    assert not_contained([row("good", "passed", "timeout")])
    assert not_contained([row("good", "not_judged", "not_judged")])
