import logging
import os

import pytest

from hone.config.sources import LocalSource
from hone.records import Language, Tolerance
from hone.sources.fetch import fetch
from hone.sources.inspect import define
from hone.sources.soundness import Soundness
from hone.sources.workloads import workload_of

HEAD = "import os, torch\nfrom torch import nn\nN = 6\nK = 4\n"
PROBLEMS = {
    "1_scalars": """
class Model(nn.Module):
    def forward(self, x, scale, shift, on): return x * scale + shift if on else x
def get_inputs(): return [torch.randn(N, K), 3.5, 2, True]
def get_init_inputs(): return []
""",
    "2_two_outputs": """
class Model(nn.Module):
    def forward(self, x): return torch.max(x, dim=1)[0], (x.sum(), torch.argmax(x, dim=1))
def get_inputs(): return [torch.randn(N, 9)]
def get_init_inputs(): return []
""",
    "3_parameters": """
class Model(nn.Module):
    def __init__(self, n, k):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n, k, bias=False), nn.BatchNorm1d(k))
        self.register_buffer('mask', torch.ones(k, dtype=torch.int32))
    def forward(self, x): return self.body(x)
def get_inputs(): return [torch.randn(32, N)]
def get_init_inputs(): return [N, K]
""",
    "4_integers": """
class Model(nn.Module):
    def forward(self, table, *index): return table[index[0]] + table[index[1]]
def get_inputs(): return [torch.randn(N, K, dtype=torch.float64), torch.arange(3), torch.arange(3)]
def get_init_inputs(): return []
""",
    "5_fails": """
class Model(nn.Module):
    def forward(self, x): raise ValueError('first line\\nlast line')
def get_inputs(): return [torch.randn(2)]
def get_init_inputs(): return []
""",
    "6_item": """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for p in torch.linspace(0, 1, 3) if p.item() > 0.1)
    def forward(self, x): return self.layers[1](self.layers[0](x))
def get_inputs(): return [torch.randn(N, K)]
def get_init_inputs(): return []
""",
    "7_prints_and_sees": """
print('{"name": "forged"}')
assert not [name for name in os.environ if 'KEY' in name], 'a key is visible'
class Model(nn.Module):
    def forward(self, x): return x + 1
def get_inputs(): return [torch.rand(10**6, 10**6)]
def get_init_inputs(): return []
""",
    "8_exits": """
import sys; sys.exit(3)
class Model: ...
def get_inputs(): ...
def get_init_inputs(): ...
""",
    "9_list_input": """
class Model(nn.Module):
    def forward(self, x): return x[0]
def get_inputs(): return [[torch.randn(2)]]
def get_init_inputs(): return []
""",
    "10_recurrent": """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(5, 7, num_layers=2, bidirectional=True, batch_first=True)
        self.gru = nn.GRU(14, 3)
    def forward(self, x): return self.gru(self.lstm(x)[0])
def get_inputs(): return [torch.randn(2, 11, 5)]
def get_init_inputs(): return []
""",
    "11_copied_layers": """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    def forward(self, x): return self.encoder(x)
def get_inputs(): return [torch.randn(2, 3, 8)]
def get_init_inputs(): return []
""",
    "12_complex": """
class Model(nn.Module):
    def forward(self, x): return torch.fft.fft(x)
def get_inputs(): return [torch.randn(N, K)]
def get_init_inputs(): return []
""",
    "13_downloads": """
from transformers import AutoModel
class Model: net = AutoModel.from_pretrained('org/net')
def get_inputs(): ...
def get_init_inputs(): ...
""",
    "14_needs_package": """
import surely_not_installed
class Model: ...
def get_inputs(): ...
def get_init_inputs(): ...
""",
}
DIES = "\nos.kill(os.getpid(), 9)\nclass Model: ...\ndef get_inputs(): ...\ndef get_init_inputs(): ...\n"


def files_of(folder, problems):
    (folder / "level1").mkdir()
    for name, text in problems.items():
        (folder / f"level1/{name}.py").write_text(HEAD + text)
    return fetch("tiny", LocalSource(kind="local", path=str(folder), levels={1: len(problems)}))


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    """(definitions by title, unsupported by title) of all the problems above, from one child."""
    files = files_of(tmp_path_factory.mktemp("tiny"), PROBLEMS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "SOME_API_KEY", "secret")
        definitions, unsupported = define(files, Soundness())
    return {d.title: d for d in definitions}, {u.name.split("_", 1)[1]: u for u in unsupported}


def test_every_problem_is_accounted_for_once(outcome):
    defined, unsupported = outcome
    assert set(unsupported) == {"fails", "exits", "list_input", "downloads", "needs_package"}
    assert len(defined) + len(unsupported) == len(PROBLEMS)


def test_numbers_become_scalars_by_value(outcome):
    definition = outcome[0]["scalars"]
    assert [(a.name, a.kind, a.dtype, a.shape) for a in definition.inputs] == [
        ("x", "tensor", "float32", ("n", "k")),
        ("scale", "scalar", "float64", ()),
        ("shift", "scalar", "int64", ()),
        ("on", "scalar", "bool", ()),
    ]
    assert definition.compulsory_bytes == 2 * 6 * 4 * 4


def test_nested_outputs_are_flattened_with_their_types(outcome):
    outputs = outcome[0]["two_outputs"].outputs
    assert [(a.name, a.dtype, a.shape) for a in outputs] == [
        ("out0", "float32", ("n",)),
        ("out1", "float32", ()),
        ("out2", "int64", ("n",)),
    ]


def test_floating_point_parameters_and_buffers_come_in_state_dict_order(outcome):
    definition = outcome[0]["parameters"]
    assert [argument.name for argument in definition.parameters] == [
        "body_0_weight",
        "body_1_weight",
        "body_1_bias",
        "body_1_running_mean",
        "body_1_running_var",
    ]
    assert definition.shape_of(definition.parameters[0]) == (4, 6)
    assert definition.flops == 2 * 32 * 6 * 4
    assert definition.reference == HEAD + PROBLEMS["3_parameters"]


def test_integer_inputs_keep_their_type_and_star_arguments_are_numbered(outcome):
    definition = outcome[0]["integers"]
    assert [(a.name, a.dtype) for a in definition.inputs] == [
        ("table", "float64"),
        ("index_0", "int64"),
        ("index_1", "int64"),
    ]


def test_a_constructor_that_asks_for_values_is_run_for_real(outcome):
    definition = outcome[0]["item"]
    assert len(definition.parameters) == 4
    assert definition.flops == 2 * 2 * 6 * 4 * 4


def test_inputs_of_terabytes_cost_nothing_and_print_does_not_disturb(outcome):
    assert outcome[0]["prints_and_sees"].compulsory_bytes == 8 * 10**12


def test_recurrent_layers_count_their_products(outcome):
    definition = outcome[0]["recurrent"]
    lstm = 2 * (4 * 7 * 5 + 4 * 7 * 7) + 2 * (4 * 7 * 14 + 4 * 7 * 7)
    gru = 3 * 3 * 14 + 3 * 3 * 3
    assert definition.flops == 2 * 2 * 11 * (lstm + gru)
    assert [definition.shape_of(output) for output in definition.outputs] == [(2, 11, 3), (1, 11, 3)]


def test_modules_that_copy_their_layers_are_defined(outcome):
    definition = outcome[0]["copied_layers"]
    assert definition.shape_of(definition.outputs[0]) == (2, 3, 8)
    assert definition.flops > 0


def test_types_without_a_name_in_c_leave_only_python(outcome):
    assert outcome[0]["complex"].languages == (Language.PYTHON, Language.TRITON)
    assert outcome[0]["scalars"].languages == tuple(Language)


@pytest.mark.parametrize(
    ("title", "reason", "requires"),
    [
        ("fails", "ValueError: last line", ()),
        ("exits", "SystemExit: 3", ()),
        ("list_input", "input x is a list", ()),
        ("downloads", "downloads a pretrained model", ("transformers", "network", "model weights org/net")),
        ("needs_package", "not installed: surely_not_installed", ("surely_not_installed",)),
    ],
)
def test_what_does_not_run_says_why_and_what_it_needs(outcome, title, reason, requires):
    assert reason in outcome[1][title].reason
    assert outcome[1][title].requires == requires


@pytest.mark.slow
def test_a_death_or_a_hang_touches_no_other_problem(tmp_path):
    good = PROBLEMS["1_scalars"]
    hangs = "\nimport time\nwhile True: time.sleep(1)\n" + good
    files = files_of(tmp_path, {"1_a": good, "2_dies": DIES, "3_b": good, "4_hangs": hangs, "5_c": good})
    definitions, unsupported = define(files, Soundness(), timeout_s=8)
    assert [definition.number for definition in definitions] == [1, 3, 5]
    assert "SIGKILL" in unsupported[0].reason
    assert unsupported[1].reason == "took longer than 8 s"


def test_a_source_without_problems_starts_nothing():
    assert define([], Soundness()) == ([], [])


def test_an_unknown_commit_is_flagged_as_nothing_and_said_in_the_log(tmp_path, caplog):
    file = files_of(tmp_path, {"1_needs": PROBLEMS["14_needs_package"]})[0]
    with caplog.at_level(logging.WARNING):
        define([file.model_copy(update={"commit": "a" * 40})], Soundness())
    assert "a" * 40 in caplog.text
    caplog.clear()
    define([file], Soundness())
    assert not caplog.text


def test_the_workload_is_the_problem_as_given(outcome):
    definition = outcome[0]["scalars"]
    loose, tight = (workload_of(definition, Tolerance(atol=t, rtol=t)) for t in (1e-2, 1e-4))
    assert (loose.definition, loose.name, loose.axes) == (definition.name, "as_given", definition.axes)
    assert loose.id != tight.id


@pytest.mark.usefixtures("in_process")
def test_what_returns_nothing_is_a_problem_only_where_results_are_in_place(tmp_path):
    body = "class Model(nn.Module):\n    def forward(self, x): x.mul_(2)\n"
    rest = "def get_inputs(): return [torch.randn(N, K)]\ndef get_init_inputs(): return []\n"
    files = files_of(tmp_path, {"1_in_place": body + rest})
    defined, (unsupported,) = define(files, Soundness())
    assert (defined, unsupported.reason) == ([], "forward returns nothing")
    (found,), none = define(files, Soundness(), in_place=True)
    assert (found.outputs, none) == ((), [])
