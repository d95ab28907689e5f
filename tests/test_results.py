"""`results/` holds what one config made: a run with another says so."""

from hone.results import OF_OPTIONS, made_with_others, remember


def test_another_config_is_named_beside_the_one_before(tmp_path):
    record = tmp_path / "results/made_with.txt"
    assert made_with_others(["a.yaml"], record) == ""
    remember(["a.yaml", "more.yaml"], record)
    assert made_with_others(["a.yaml", "more.yaml"], record) == ""
    warning = made_with_others([OF_OPTIONS], record)
    assert "last made with a.yaml, more.yaml; this is results/config.yaml (options of `hone run`)" in warning


def test_without_a_config_file_too(tmp_path):
    record = tmp_path / "made_with.txt"
    remember([], record)
    assert made_with_others([], record) == ""
    assert "last made with no config; this is a.yaml" in made_with_others(["a.yaml"], record)
