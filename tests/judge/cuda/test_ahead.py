"""Expected results that are computed before there is a solution, as a trial would compute them. In the real hosts."""

import pytest

from hone.judge.child.cuda import reference_checks
from hone.judge.child.cuda.reference import ReferenceHost
from hone.judge.device.cuda.trials import planned
from hone.judge.verdict import Verdict

from .rigs import ALL, CHANGING, GATHER, IN_PLACE, NORMAL, NUMBER, OUT, PAIR, RANDOM, SCALE, problem

SAME = problem("same", "return x.view(-1).view(x.shape)", OUT)
CASES = {
    "scale": (SCALE, "return torch.sigmoid(x) * self.weight", {"init": NORMAL}),
    "in_place": (IN_PLACE, "x.mul_(0.5); return x.sum(dim=1)", {}),
    "number": (NUMBER, "return factor * x", {"names": "x, factor"}),
    "changing": (CHANGING, "return factor * x", {"names": "x, factor"}),
    "random": (RANDOM, "return torch.nn.functional.dropout(x, 0.5, True)", {}),
    "gather": (GATHER, "return x.index_select(0, index)", {"names": "x, index"}),
    "pair": (PAIR, "return x > 0, [x.sum(), (9 * x).int()]", {}),
    "same": (SAME, "return x.clone()", {}),
}


@pytest.fixture
def made(monkeypatch):
    """Trials whose expected results were computed."""
    found, make = [], ReferenceHost._make

    def making(host, message, scalars):
        found.append((message["do"], message["distribution"]))
        return make(host, message, scalars)

    monkeypatch.setattr(ReferenceHost, "_make", making)
    return found


@pytest.mark.parametrize("name", CASES)
def test_trials_find_what_was_computed_ahead_and_find_the_same(rig, made, monkeypatch, name):
    item, body, options = CASES[name]
    monkeypatch.setattr(reference_checks, "AHEAD_SHARE", 1e9)
    findings = []
    for ahead in (False, True, True):
        one = rig(item, body, **options)
        made.clear()
        if ahead:
            one.reference.ahead(planned(one.plan, one.protocol))
        for _ in range(2):  # the second solution of the workload finds them, too
            findings.append(one.examine().errors)
        assert {what for what, _ in made} == {"ahead" if ahead else "trial"}
        assert [kind for _, kind in made] == list(ALL) * (1 if ahead else 2)
    assert findings == findings[:1] * len(findings)


def test_a_wrong_solution_is_as_wrong_when_results_were_computed_ahead(rig, monkeypatch):
    monkeypatch.setattr(reference_checks, "AHEAD_SHARE", 1e9)
    details = []
    for ahead in (False, True):
        one = rig(SCALE, "return torch.sigmoid(x) * self.weight * (1 + 1e-3 * (x > 1))", init=NORMAL)
        if ahead:
            one.reference.ahead(planned(one.plan, one.protocol))
        with pytest.raises(Verdict, match="wrong_value") as error:
            one.examine()
        details.append((error.value.status, error.value.detail))
    assert details[0] == details[1]


@pytest.mark.parametrize(("kept", "trials"), [(0, 4), (2, 2)])
def test_no_more_is_kept_than_there_is_room_for(rig, made, monkeypatch, kept, trials):
    one = rig(SCALE, "return torch.sigmoid(x) * self.weight", init=NORMAL)
    size = reference_checks.WITH_EXACT * one.ground._outputs.region.layout.nbytes
    monkeypatch.setattr(reference_checks, "AHEAD_SHARE", 1e9)
    monkeypatch.setattr(reference_checks, "AHEAD_BYTES", kept * size)
    one.reference.ahead(planned(one.plan, one.protocol))
    one.examine()
    assert [what for what, _ in made] == ["ahead"] * kept + ["trial"] * trials
