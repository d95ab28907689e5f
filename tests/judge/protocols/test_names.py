"""Which timing protocols a config may name."""

from pathlib import Path

import pytest
import yaml

from hone.config.judge import timing_protocols
from hone.config.settings import load
from hone.core.errors import ConfigError
from hone.judge import protocols
from hone.judge.protocols import measure_of


def test_a_config_may_name_just_those_that_measure():
    assert "hone" in timing_protocols()
    for path in Path(protocols.__file__).parent.glob("[a-z]*.py"):
        if path.stem in timing_protocols():
            assert callable(measure_of(path.stem))
        else:
            with pytest.raises(ConfigError):
                measure_of(path.stem)


@pytest.mark.parametrize(("place", "where"), [("judge", "judge"), ("gold", "experiments.gold.judge")])
def test_another_name_is_refused_before_anything_runs(place, where):
    values = yaml.safe_load(Path("config/gold.yaml").read_text())
    wrong = {**values["judge"], "timing_protocol": "once"}
    if place == "judge":
        values["judge"] = wrong
    else:
        values["experiments"]["gold"]["judge"] = wrong
    with pytest.raises(ConfigError, match=rf"{where}.timing_protocol: must be hone \(got 'once'\)"):
        load(values)
