"""A dead run's lock goes, a living run's stays."""

from hone.locks import forget_dead_runs


def stale(folder):
    (folder / "locks").mkdir(parents=True, exist_ok=True)
    lock = folder / "locks/0.output.lock"
    lock.write_text("results/summary.md")
    return lock


def test_a_dead_runs_lock_is_removed(tmp_path):
    lock = stale(tmp_path / ".snakemake")
    held = forget_dead_runs(tmp_path / ".snakemake")
    assert held is not None
    assert not lock.exists()
    held.close()


def test_a_living_runs_lock_stays(tmp_path):
    with forget_dead_runs(tmp_path) as held:
        lock = stale(tmp_path)
        assert forget_dead_runs(tmp_path) is None
        assert lock.exists()
        assert not held.closed


def test_a_folder_that_cannot_be_made_is_left_to_snakemake(tmp_path):
    (tmp_path / "file").write_text("")
    assert forget_dead_runs(tmp_path / "file/.snakemake") is None
