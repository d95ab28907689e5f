"""The SALIENT figures: what they show, with honest axes, and what becomes of missing parts."""

import itertools

import numpy as np
import pytest

from hone.analysis.plotting import NothingToShow
from hone.analysis.salient_curves import reach
from hone.analysis.salient_figures import seconds_a_worker
from hone.tables.stages import draw

from .tables import frame_of, read_table, table_of
from .trainings import Trainings, spans


def shown(name, tables):
    return draw(name, read_table(table_of(name), tables))


def labels(figure):
    """Everything that a legend names."""
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def test_the_timeline_has_a_lane_for_everyone_and_one_scale(tables):
    figure = shown("salient_timeline", tables)
    plain, *_, pipelined = figure.axes
    assert plain.get_title(loc="left").startswith("plain: papers100m_like, sage, 1 GPU")
    assert [text.get_text() for text in plain.get_yticklabels()] == ["worker0", "main", "gpu"]
    lanes = ["worker0", "worker1", "worker2", "copy", "main", "gpu"]
    assert [text.get_text() for text in pipelined.get_yticklabels()] == lanes
    assert len({axis.get_xlim() for axis in figure.axes}) == 1
    widths = [bar.get_width() for bar in plain.patches]
    assert sum(widths) == pytest.approx(8 * (12 + 3 + 5 + 12))
    assert "no step to do" in labels(figure)


def test_the_breakdown_s_bars_are_the_epoch_and_its_shares_fill_the_axis(tables):
    table = read_table("salient_breakdown", tables)
    figure = draw("salient_breakdown", table)
    seconds, shares = figure.axes[:2]
    first = table[(table["training"] == "ladder") & (table["gpus"] == 1)]
    ends = [bar.get_x() + bar.get_width() for bar in seconds.patches[len(first) :]]
    assert ends == pytest.approx(first["epoch_s"].tolist())
    assert seconds.get_xlim()[0] == 0
    assert shares.get_xlim() == (0, 1)
    names = [text.get_text() for text in shares.get_yticklabels()]
    assert names[-2:] == [
        "paper: PyG, 1 V100-32GB, 55 s: 75.5 % waiting",
        "paper: SALIENT, 1 V100-32GB, 16.5 s: 14.5 % waiting",
    ]
    assert sum(bar.get_width() for bar in shares.patches) == pytest.approx(len(names), abs=0.01)


def test_what_one_thread_or_the_gpu_prepares_is_not_shared_out(tables):
    table = read_table("salient_breakdown", tables).head(4)
    table = table.assign(system=["plain", "pyg", "pyg_gpu", "wholegraph"], prepare_s=6.0, threads=[3, 3, 3, 0])
    assert seconds_a_worker(table).tolist() == [2.0, 6.0, 6.0, 6.0]


def test_the_ladder_starts_at_zero_and_shows_the_paper_s_speedup(tables):
    figure = shown("salient_ladder", tables)
    seconds, speedups = figure.axes[:2]
    assert seconds.get_xlim()[0] == speedups.get_xlim()[0] == 0
    (printed,) = [line for line in speedups.lines if line.get_marker() == "D"]
    assert np.nanmax(printed.get_xdata()) == pytest.approx(54.950602 / 16.513349)
    assert "the paper's speedup on its own machine" in labels(figure)
    assert len([line for line in figure.axes[3].lines if line.get_marker() == "D"]) == 0  # nothing printed for 2 GPUs


def test_threads_are_on_log_axes_with_a_tick_at_each(tables):
    figure = shown("salient_threads", tables)
    (axis,) = figure.axes
    assert (axis.get_xscale(), axis.get_yscale()) == ("log", "log")
    assert [text.get_text() for text in axis.get_xticklabels()] == ["1", "2", "4", "8", "16"]
    assert {"hone", "salient", "pyg"} <= set(labels(figure))


def test_inference_shows_means_in_order_of_fan_out_and_says_that_its_axis_is_cut(tables):
    figure = shown("salient_inference", tables)
    (axis,) = [axis for axis in figure.axes if axis.get_visible()]
    assert [text.get_text() for text in axis.get_xticklabels()] == ["5,5,5", "10,10,10", "20,20,20", "full"]
    assert "does not start at 0" in axis.get_ylabel()
    assert [text.split(" ")[0] for text in labels(figure)] == ["sage", "gat", "gin", "sage_ri"]
    assert sorted(["full", "20,20", "-1,-1", "100"], key=reach) == ["100", "20,20", "-1,-1", "full"]


def test_scaling_joins_the_points_of_one_source_alone_and_has_the_same_settings_alone(tables):
    figure = shown("salient_scaling", tables)
    (axis,) = figure.axes  # the other graph was trained on with one GPU alone
    theirs = [line for line in axis.lines if line.get_label() == "published: SALIENT"]
    assert sorted(len(line.get_xdata()) for line in theirs) == [1, 1, 1, 3]
    assert all(line.get_markerfacecolor() == "none" for line in theirs)
    assert (axis.get_xscale(), axis.get_yscale()) == ("log", "log")
    assert labels(figure) == []
    words = [text.get_text() for text in axis.texts]
    assert any(word.startswith("SALIENT (") for word in words)
    assert any(word.startswith("Hone pipelined") for word in words)
    assert not any(word.startswith("WholeGraph") for word in words)


def test_names_of_lines_do_not_lie_on_each_other(tables):
    figure = shown("salient_scaling", tables)
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in figure.axes[0].texts]
    assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))
    assert all(box.x1 <= figure.bbox.x1 for box in boxes)


def test_a_run_on_a_cpu_without_seeds_spans_or_published_numbers_is_drawn():
    made = Trainings(device="Test CPU")
    for system in ("plain", "pipelined"):
        run = made.train(system, 1.0, timeline=spans(serial=True))
        made.infer(run, f5_5=800)
    made.train("pipelined", 0.6, gpus=2)
    found = made.run()
    parts = ("timeline", "breakdown", "ladder", "inference", "scaling")
    for name in (f"salient_{part}" for part in parts):
        figure = draw(name, frame_of(name, found))
        titles = [axis.get_title(loc="left") for axis in figure.axes]
        assert not any("GPU" in title for title in titles), name
    assert figure.axes[0].get_xlabel() == "processes (log axis)"


def test_one_number_of_processes_is_no_scaling():
    made = Trainings(device="Test CPU")
    made.train("plain", 1.0)
    table = frame_of("salient_scaling", made.run())
    assert table["reference"].tolist() == ["1 process"]
    with pytest.raises(NothingToShow, match="one number of processes alone"):
        draw("salient_scaling", table)
