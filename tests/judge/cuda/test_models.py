"""What the GPU's zygote does before anything is judged."""

import subprocess
import sys

SCRIPT = """
import torch

def asked():
    raise AssertionError("the GPU was asked for")

torch.cuda.is_available = asked
torch.cuda._is_compiled = lambda: True
torch.version.cuda = "13.0"
from hone.judge.device.cuda.models import import_extension_tools
import_extension_tools()
assert torch.cuda.is_available is asked
assert torch.utils.cpp_extension.CUDA_HOME == "/nowhere"
"""


def test_extension_tools_are_imported_without_opening_the_gpu(monkeypatch):
    monkeypatch.setenv("CUDA_HOME", "/nowhere")
    subprocess.run([sys.executable, "-W", "ignore", "-c", SCRIPT], check=True)
