"""One kernel by hand: the file to begin with."""

import sys

import pytest

from hone.cli.main import main
from hone.core.files import write_records
from hone.launcher import signature
from hone.records import Language


@pytest.mark.parametrize(("options", "language"), [((), Language.CPP), (("--cuda",), Language.CUDA)])
def test_the_beginning_of_a_file_is_printed(options, language, definition, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_records(tmp_path / "toy/level1.jsonl", [definition])
    monkeypatch.setattr(sys, "argv", ["hone", "launcher", definition.name, "--definitions", "toy", *options])
    with pytest.raises(SystemExit) as caught:
        main()
    assert not caught.value.code
    start = f"// definition: {definition.name}\n#include <cstdint>\n\n"
    assert capsys.readouterr().out == start + signature(definition, language) + "\n"
