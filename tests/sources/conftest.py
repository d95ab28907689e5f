"""What the tests of sources share."""

import warnings

import pytest

from hone.sources import inspect
from hone.sources.inspect_child import report


@pytest.fixture
def in_process(monkeypatch):
    """Problems are run by the child's own function in this process, which has PyTorch already.

    For tests of what is made of a report; those of the child, its end and its environment start it.
    """

    def inspected(files, _timeout_s):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return {file.name: report(file.name, file.text) for file in files}

    monkeypatch.setattr(inspect, "_inspect", inspected)
