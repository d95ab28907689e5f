"""Cleaning up after a failure hides nothing of it, and does not happen without one."""

import pytest

from hone.core.errors import on_failure


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, GeneratorExit])
def test_whatever_is_raised_is_cleaned_up_after_once_and_goes_on(kind):
    done, error = [], kind("why")
    with (
        pytest.raises(kind) as caught,
        on_failure(lambda: done.append("last")),
        on_failure(lambda: done.append("first")),
    ):
        raise error
    assert (caught.value, done) == (error, ["first", "last"])


def test_without_a_failure_nothing_is_cleaned_up():
    done = []

    def leave_early():
        with on_failure(lambda: done.append("cleaned")):
            return "kept"

    assert (leave_early(), done) == ("kept", [])
