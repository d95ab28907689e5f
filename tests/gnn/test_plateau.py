import pytest
import torch

from hone.gnn.plateau import PlateauRule


@pytest.mark.parametrize(("factor", "patience"), [(0.8, 5), (0.5, 0), (0.1, 3)])
def test_learning_rates_are_those_of_torchs_scheduler(factor, patience):
    generator = torch.Generator().manual_seed(1)
    losses = (torch.rand(200, generator=generator) + torch.linspace(1, 0, 200)).tolist()
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    theirs = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=factor, patience=patience)
    ours, lr = PlateauRule(factor, patience, torch.device("cpu")), torch.tensor(0.1, dtype=torch.float64)
    for loss in losses:
        theirs.step(loss)
        ours.step(torch.tensor(loss, dtype=torch.float64), lr)
        assert float(lr) == pytest.approx(optimizer.param_groups[0]["lr"], rel=1e-9)
    assert float(lr) < 0.1


def test_a_rule_that_is_loaded_goes_on_where_the_other_stopped():
    cpu = torch.device("cpu")
    whole, first, second = (PlateauRule(0.5, 2, cpu) for _ in range(3))
    rates = [torch.tensor(1.0) for _ in range(2)]
    losses = [torch.tensor(value) for value in (3.0, 4.0, 4.0, 2.9, 5.0, 5.0, 5.0, 5.0)]
    for index, loss in enumerate(losses):
        whole.step(loss, rates[0])
        if index == 4:
            second.load_state_dict(first.state_dict())
        (first if index < 4 else second).step(loss, rates[1])
    assert rates[0] == rates[1] == 0.5
