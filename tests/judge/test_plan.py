"""What cannot be judged, said with numbers, and the reference as its own solution."""

import pytest

from hone.judge.plan import make_plan
from hone.judge.verdict import Verdict
from hone.records import Argument, Status
from hone.sources.gold import gold_solution

from .conftest import QUICK, scale_definition, workload_of


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"requires": ("no_such_package",)}, "no_such_package"),
        ({"axes": {"rows": 1 << 20, "columns": 1 << 14}}, "GiB"),
        ({"outputs": (Argument(name="out", shape=("rows",), dtype="float8_e5m2"),)}, "float8_e5m2 is not supported"),
    ],
)
def test_what_cannot_be_judged_is_said_with_numbers(changes, words):
    definition = scale_definition().model_copy(update=changes)
    with pytest.raises(Verdict, match=words) as caught:
        make_plan(definition, workload_of(definition), QUICK)
    assert caught.value.status is Status.NOT_JUDGED


def test_other_sizes_are_not_judged():
    definition = scale_definition()
    workload = workload_of(definition).model_copy(update={"axes": {"rows": 1, "columns": 1}})
    with pytest.raises(Verdict, match="sizes"):
        make_plan(definition, workload, QUICK)


def test_gold_is_the_reference_under_the_name_of_solutions():
    definition = scale_definition()
    assert gold_solution(definition).source.startswith(definition.reference.rstrip())
    assert gold_solution(definition).id == gold_solution(definition).id
