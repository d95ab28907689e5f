"""What a study takes: files, folders and patterns of kernels, each with a definition that the config knows."""

import csv

import pytest

from hone.core.csv_table import table_lines, write_table
from hone.core.errors import ConfigError
from studies.judge.kernel_files import expand, open_bench


def test_a_folder_a_file_and_a_pattern_name_each_kernel_once(place):
    honest, endless = place.kernel("honest.cpp"), place.kernel("endless.cpp")
    assert expand([str(place.folder)]) == [endless, honest]
    assert expand([str(honest), str(place.folder / "*.cpp")]) == [honest, endless]


def test_a_name_without_kernel_is_an_error(place):
    with pytest.raises(ConfigError, match="names no kernel"):
        expand([str(place.folder / "nothing_*")])


def test_the_header_names_the_definition_unless_the_caller_does(place):
    bench = open_bench(place.config, place.definitions)
    file = place.kernel("honest.cpp", definition="hand/level1/9_other")
    with pytest.raises(ConfigError, match="no definition 'hand/level1/9_other'"):
        bench.kernel(file)
    assert bench.kernel(file, "hand/level1/1_scale").definition == "hand/level1/1_scale"


def test_a_definition_whose_source_the_config_lacks_is_an_error(place):
    place.config.write_text(place.config.read_text().replace("hand", "other"))
    with pytest.raises(ConfigError, match="not in the config"):
        open_bench(place.config, place.definitions).kernel(place.kernel("honest.cpp"))


def test_a_folder_without_definitions_is_an_error(place):
    with pytest.raises(ConfigError, match="there are no definitions"):
        open_bench(place.config, place.folder / "nowhere")


def test_a_table_keeps_every_cell_and_leaves_absent_ones_empty(tmp_path):
    rows = [{"name": "a, b", "value": 0.125, "good": True}, {"name": 'say "x"', "value": None, "good": False}]
    write_table(tmp_path / "t.csv", ("name", "value", "good"), rows)
    with (tmp_path / "t.csv").open(newline="") as file:
        read = list(csv.DictReader(file))
    assert read == [
        {"name": "a, b", "value": "0.125", "good": "yes"},
        {"name": 'say "x"', "value": "", "good": "no"},
    ]
    assert len(table_lines(("name", "value"), rows)) == 3
