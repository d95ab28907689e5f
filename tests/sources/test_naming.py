import re

import pytest

from hone.sources.inspection import Inspection, Value
from hone.sources.naming import name_arguments


def tensor(name, *shape, dtype="float32"):
    return Value(name=name, shape=shape, dtype=dtype, item_bytes=4)


def named(inputs, parameters=(), outputs=(), **constants):
    inspection = Inspection(inputs=inputs, parameters=parameters, outputs=outputs, constants=constants, flops=0)
    return name_arguments(inspection)


def test_constants_name_axes_and_unnamed_sizes_get_the_argument_and_position():
    inputs, parameters, outputs, axes = named(
        [tensor("x", 8, 3, 5)], [tensor("fc.weight", 7, 5)], [tensor("", 8, 3, 7)], Batch=8, out_features=7, unused=99
    )
    assert inputs[0].shape == ("batch", "x_1", "x_2")
    assert (parameters[0].name, parameters[0].shape) == ("fc_weight", ("out_features", "x_2"))
    assert (outputs[0].name, outputs[0].shape) == ("out", ("batch", "x_1", "out_features"))
    assert axes == {"batch": 8, "x_1": 3, "x_2": 5, "out_features": 7}


def test_a_size_that_two_constants_have_takes_neither_name():
    inputs, _, _, axes = named([tensor("a", 4, 4), tensor("b", 4, 6)], height=4, width=4)
    assert (inputs[0].shape, inputs[1].shape) == (("a_0", "a_1"), ("a_0", "b_1"))
    assert axes == {"a_0": 4, "a_1": 4, "b_1": 6}


def test_constants_that_differ_in_case_only_stay_apart():
    _, _, _, axes = named([tensor("x", 2, 3)], N=2, n=3)
    assert sorted(axes.values()) == [2, 3]


def test_axes_never_take_an_arguments_name_nor_the_launchers():
    inputs, _, outputs, axes = named([tensor("n", 2, 3, 4, 5)], (), [tensor("", 2)], N=2, OUT=3, stream=4, int=5)
    assert not {inputs[0].name, outputs[0].name, "stream", "launch", "int"} & set(axes)
    assert list(axes.values()) == [2, 3, 4, 5]


@pytest.mark.parametrize("wish", ["int", "launch", "a.b-c", "3d", "_x", "größe", "__half", "register", "__restrict__"])
def test_every_name_is_an_identifier_of_c(wish):
    inputs, *_ = named([tensor(wish), tensor("out")])
    assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", inputs[0].name)
    assert inputs[0].name not in {"int", "launch", "register"}


def test_names_differ_where_dots_and_underscores_meet_and_an_input_is_called_out():
    inputs, parameters, outputs, _ = named(
        [tensor("out"), tensor("bias")], [tensor("a.b"), tensor("a_b"), tensor("bias")], [tensor(""), tensor("")]
    )
    names = [argument.name for argument in (*inputs, *parameters, *outputs)]
    assert len(set(names)) == len(names)
    assert [argument.name for argument in outputs] == ["out0", "out1"]


def test_every_axis_has_one_size_and_every_dimension_a_name():
    values = [tensor(f"p{index}", *range(1, 2 + index % 4), 64) for index in range(60)]
    inputs, parameters, outputs, axes = named([tensor("x", 64, 64)], values, [tensor("", 64)], dim=64)
    for argument, value in zip(
        (*inputs, *parameters, *outputs), [tensor("", 64, 64), *values, tensor("", 64)], strict=True
    ):
        assert tuple(axes[name] for name in argument.shape) == value.shape
    assert len(axes) == 5
