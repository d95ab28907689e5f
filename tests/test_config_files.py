"""Config files as values: what is no YAML, or says something twice, is named with its lines."""

import pytest

from hone.config.files import check_files, read_values
from hone.core.errors import ConfigError

TWICE = """
experiments:
  one_shot: {method: gold}
  sampling: {method: gold}

  one_shot: {method: gold}
"""


def written(folder, text):
    file = folder / "my.yaml"
    file.write_text(text)
    return file


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TWICE, "'one_shot' stands twice, in lines 3 and 6"),
        ("llm: {}\n" + TWICE + "llm: {}\n", "'one_shot' stands twice"),
        ("judge: {threads: 1, threads: 2}\n", "'threads' stands twice, in lines 1 and 1"),
        ('{"judge": {"name": "x"}, "judge": {}}', "'judge' stands twice"),
        ("levels: {1: 2, 1: 3}\n", "'1' stands twice"),
    ],
)
def test_a_key_that_stands_twice_is_refused(tmp_path, text, said):
    file = written(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        check_files([file])
    assert str(caught.value).startswith(f"{file}: {said}")
    assert "remedy: give one of them another name" in str(caught.value)


def test_merged_keys_may_be_replaced(tmp_path):
    text = "a: &a {x: 1, y: 2}\nb: &b {<<: *a, y: 3}\nc: {<<: *b, <<: {z: 4}, x: 5}\nd: {<<: [*a, *b]}\n"
    assert read_values(written(tmp_path, text)) == {
        "a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 3}, "c": {"x": 5, "y": 3, "z": 4}, "d": {"x": 1, "y": 2},
    }  # fmt: skip


@pytest.mark.parametrize("text", ["a: [1", "- 1\n- 2\n", "\xff", "a:\n\tb: 1\n"])
def test_a_file_that_is_no_config_is_named(tmp_path, text):
    file = tmp_path / "bad.yaml"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError, match=r"bad\.yaml"):
        read_values(file)


def test_a_tab_has_its_remedy(tmp_path):
    with pytest.raises(ConfigError, match=r"(?s)my\.yaml.*line 2, column 1\n  remedy: indent with spaces"):
        read_values(written(tmp_path, "a:\n\tb: 1\n"))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"no such config file\n  remedy: .* the folder of the checkout"):
        read_values(tmp_path / "none.yaml")


def test_a_folder_is_no_config(tmp_path):
    with pytest.raises(ConfigError, match="cannot read: Is a directory"):
        read_values(tmp_path)
