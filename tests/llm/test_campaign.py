import pytest

from .campaign import SCENARIOS


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_request_is_answered_and_paid_once(name, tmp_path):
    """Faults, `kill -9` in the middle, two processes: each promise is a True in the scenario's row."""
    row = SCENARIOS[name](60, tmp_path / "ledger")
    broken = [label for label, value in row.items() if value is False]
    assert not broken, row
