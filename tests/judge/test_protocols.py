"""A timing protocol is a file: how one is found, and what its name must be."""

import sys
from types import ModuleType

import pytest

from hone.core.errors import ConfigError
from hone.judge import protocols
from hone.judge.protocols import hone, measure_of
from hone.judge.session import Session
from hone.records import Protocol


def test_hones_own_protocol_is_found_by_its_name():
    assert measure_of("hone") is hone.measure


@pytest.mark.parametrize("name", ["once", "kernelbench", "../hone", "__init__", ""])
def test_what_is_no_timing_protocol_is_one_error_before_anything_starts(name):
    with pytest.raises(ConfigError, match=r"judge\.timing_protocol") as caught:
        Session(Protocol(name="quick", timing_protocol=name), ("torch_eager",))
    assert "has a function measure" in str(caught.value)


def test_a_further_file_is_a_further_protocol(monkeypatch, tmp_path):
    (tmp_path / "once.py").write_text("")
    monkeypatch.setattr(protocols, "__file__", str(tmp_path / "__init__.py"))
    once = ModuleType("once")
    once.measure = lambda stand, baselines, protocol: "times"
    monkeypatch.setitem(sys.modules, "hone.judge.protocols.once", once)
    assert measure_of("once")(None, (), None) == "times"
    with pytest.raises(ConfigError):
        measure_of("hone")
