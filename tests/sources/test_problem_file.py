import pytest

from hone.core.errors import SourceError
from hone.sources.problem import packages, parse_name, pretrained_weights, read_problem

GOOD = "class Model: ...\ndef get_inputs(): return []\ndef get_init_inputs(): return []\n"


def read(text, path="KernelBench/level1/19_ReLU.py"):
    return read_problem("bench", path, text.encode(), repository="repo", commit="local")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("level1/19_ReLU.py", (1, 19, "ReLU")),
        ("KernelBench/level3/7_Net_v2.1-b.py", (3, 7, "Net_v2.1-b")),
        ("level1/1_Square_.py", (1, 1, "Square_")),
        ("level1/ReLU.py", None),
        ("level1/19ReLU.py", None),
        ("level1/19_ReLU.txt", None),
        ("levelx/19_ReLU.py", None),
        ("19_ReLU.py", None),
        ("level1/sub/19_ReLU.py", None),
    ],
)
def test_names_are_parsed(path, expected):
    assert parse_name(path) == expected


def test_a_problem_keeps_its_bytes_digest_and_name():
    file = read(GOOD)
    assert (file.name, file.text, file.upstream.path) == ("bench/level1/19_ReLU", GOOD, "KernelBench/level1/19_ReLU.py")
    assert len(file.sha256) == 64
    assert read(GOOD + "\n").sha256 != file.sha256


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GOOD.replace("Model", "Mode1"), "does not define Model"),
        (GOOD.replace("def get_init", "def got_init"), "does not define get_init_inputs"),
        ("", "Model and get_inputs and get_init_inputs"),
        (f"if True:\n def f():\n  class Model: ...\n{GOOD.split(chr(10), 1)[1]}", "does not define Model"),
        (GOOD + "def (", "not valid Python"),
        (GOOD + "\0", "not valid Python"),
    ],
)
def test_what_is_missing_is_named_with_file_and_remedy(text, said):
    with pytest.raises(SourceError, match=said) as caught:
        read(text)
    assert caught.value.where == "repo: KernelBench/level1/19_ReLU.py"
    assert caught.value.remedy


def test_checking_runs_nothing_and_takes_any_top_level_binding():
    read(f"raise SystemExit\nfrom elsewhere import Model\nget_inputs = get_init_inputs = list\npath = '\\d'\n{GOOD}")


def test_bytes_that_are_not_text_are_refused():
    with pytest.raises(SourceError, match="not UTF-8"):
        read_problem("bench", "level1/1_a.py", b"\xff\xfe", repository="repo", commit="local")


def test_packages_leave_out_torch_and_the_standard_library():
    text = (
        "import torch.nn as nn, math\nfrom einops import rearrange\nfrom . import x\ndef f():\n import numpy.linalg\n"
    )
    assert packages(text) == ("einops", "numpy")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A.from_pretrained('org/net')", ("org/net",)),
        ("name = 'org/net'\nA.from_pretrained(name, x=1)\nB.from_pretrained(self.name)", ("org/net",)),
        ("A.from_pretrained(self.name)", ("unknown",)),
        ("from_pretrained = 3", ()),
    ],
)
def test_weights_to_download_are_found_without_running(text, expected):
    assert pretrained_weights(text) == expected
