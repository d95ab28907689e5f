"""The screening of one source: pure functions of text, without a compiler, a GPU or PyTorch."""

from __future__ import annotations

import ast
import hashlib
from typing import Literal

from hone.records import Language, Record
from hone.screen import cuda_text, reach, switches
from hone.screen.extensions import ExtensionCall, Place, extension_calls, places, swallowed, unbuildable
from hone.screen.kernels import kinds_of, packages_of
from hone.screen.model import fits, has_model, returns_kept
from hone.screen.module import Module, UnreadableSourceError, read_module

MOST_TEXTS = 500
"""More texts than any honest module has."""
Stands = Literal["code", "no_text", "reference"]


class Screening(Record):
    """What one source's text says about it; where it cannot be parsed, only `parse_error` and digests are filled."""

    name: str
    """File, or place in an experiment."""
    definition: str = ""
    sha256: str
    """Of the source."""
    reference_sha256: str = ""
    """Of the problem's own text, to be held against the version that an archive claims; empty where none was given."""
    stands_for: Stands = "code"
    """`no_text`: it is empty or the word None. `reference`: it computes by the reference's own text."""
    parse_error: str = ""
    """Why Python cannot parse it, in one line."""
    has_model: bool = False
    """The class ModelNew is there."""
    constructor_fits: bool | None = None
    """ModelNew takes as many arguments as `get_init_inputs` gives; absent where text does not say."""
    forward_fits: bool | None = None
    """Its forward takes as many as `get_inputs` gives."""
    kinds: tuple[str, ...] = ()
    """Kinds of kernel that it makes itself, see `kind_of_kernel`; none: PyTorch's alone."""
    packages: tuple[str, ...] = ()
    """Packages that it imports beside torch and the standard library."""
    builds: int = 0
    """Calls of load_inline and cpp_extension.load."""
    build_places: tuple[Place, ...] = ()
    """When these are made: as the module is imported, in a constructor, in a forward, or never."""
    unbuildable: str = ""
    """Why no PyTorch can build one of them, or import what it built."""
    build_failure_is_hidden: bool = False
    """A `try` around a build goes on after a failure."""
    unreached: tuple[str, ...] = ()
    """Functions of extensions, and Triton kernels, that ModelNew does not lead to."""
    launches: int = 0
    """Places in CUDA text that launch a kernel."""
    default_stream_only: bool = False
    """It launches, and always on the default stream."""
    own_stream: bool = False
    own_graph: bool = False
    returns_kept_memory: bool = False
    """Forward returns memory that its next call may write over."""
    synchronises: bool = False
    """Forward waits for the GPU, in Python."""
    synchronises_in_cpp: bool = False
    switches: tuple[str, ...] = ()
    """`autocast`, `half`, `tf32`, `cudnn_benchmark`, `channels_last`, in Python or in CUDA text."""
    legacy_constructors: int = 0
    """Calls such as torch.Tensor(n, m), whose memory is the CPU's."""
    uses: tuple[str, ...] = ()
    """`temporary_folder`, `files`, `environment`, `threads`, and the keys of caches."""
    libraries: tuple[str, ...] = ()
    """Libraries that CUDA text includes."""


def screen(
    source: str,
    name: str = "",
    *,
    definition: str = "",
    reference: str | None = None,
    language: Language = Language.PYTHON,
) -> Screening:
    """Screen one source; `reference` is the problem's file. Never fails for what the source holds."""
    known: dict[str, object] = {"name": name, "definition": definition, "sha256": _sha256(source)}
    if reference is not None:
        known["reference_sha256"] = _sha256(reference)
    if source.strip() in ("", "None"):
        return Screening.model_validate(known | {"stands_for": "no_text"})
    if language in (Language.CUDA, Language.CPP):
        return Screening.model_validate(known | {"kinds": (str(language),)} | _of_cuda((source,)))
    try:
        module = read_module(source)
    except UnreadableSourceError as error:
        return Screening.model_validate(known | {"parse_error": str(error)})
    return Screening.model_validate(known | _of_module(module) | _beside(module, reference))


def _of_module(module: Module) -> dict[str, object]:
    calls = extension_calls(module)
    cuda = _of_cuda(tuple(text for text in _cuda_texts(module, calls)))
    formats = {*switches.switches(module), *_words(cuda["switches"])}
    return cuda | {
        "has_model": has_model(module),
        "kinds": kinds_of(module),
        "packages": packages_of(module),
        "builds": len(calls),
        "build_places": tuple(sorted({place for call in calls for place in places(module, call)})),
        "unbuildable": next(filter(None, map(unbuildable, calls)), ""),
        "build_failure_is_hidden": any(swallowed(module, call) for call in calls),
        "unreached": reach.unreached_kernels(module),
        "own_stream": bool(cuda["own_stream"]) or switches.own_stream(module),
        "own_graph": bool(cuda["own_graph"]) or switches.own_graph(module),
        "returns_kept_memory": bool(cuda["returns_kept_memory"]) or returns_kept(module),
        "synchronises": reach.synchronises(module),
        "switches": tuple(sorted(formats)),
        "legacy_constructors": switches.legacy_constructors(module),
        "uses": switches.uses(module),
    }


def _of_cuda(texts: tuple[str, ...]) -> dict[str, object]:
    found = cuda_text.read_cuda(texts)
    return {
        "launches": found.launches,
        "default_stream_only": found.launches > 0 and found.default_stream_launches == found.launches,
        "own_stream": found.own_stream,
        "own_graph": found.own_graph,
        "returns_kept_memory": found.returns_static,
        "synchronises_in_cpp": found.synchronises,
        "switches": (*["half"][: found.sixteen_bit], *["tf32"][: found.tf32]),
        "libraries": found.libraries,
    }


def _cuda_texts(module: Module, calls: list[ExtensionCall]) -> list[str]:
    """CUDA and C++ among the module's texts: what a build is given, once, and what looks like it."""
    given = [text for call in calls for text in (*(call.cpp_sources or ()), *(call.cuda_sources or ()))]
    loose = [text for text in dict.fromkeys(module.texts) if cuda_text.looks_like_cuda(text)][:MOST_TEXTS]
    return [
        *dict.fromkeys(given),
        *(text for text in loose if not any(text in whole for whole in given)),
    ]


def _beside(module: Module, reference: str | None) -> dict[str, object]:
    """What only shows beside the reference's file; nothing where that cannot be parsed."""
    if reference is None:
        return {}
    try:
        theirs = read_module(reference)
    except UnreadableSourceError:
        return {}
    return {
        "constructor_fits": fits(module, theirs, "__init__", "get_init_inputs"),
        "forward_fits": fits(module, theirs, "forward", "get_inputs"),
        "stands_for": "reference" if _same(module, theirs) else "code",
    }


def _same(module: Module, reference: Module) -> bool:
    """Whether ModelNew (or Model, without one) is the reference's Model but for its name, comments and docstrings.

    Without a kernel, and with the same classes beside it: a module may well keep its Model and replace a layer.
    """
    ours = _class_text(module, "ModelNew" if has_model(module) else "Model")
    if ours is None or ours != _class_text(reference, "Model") or kinds_of(module) != kinds_of(reference):
        return False
    classes = {node.name for node in module.nodes if isinstance(node, ast.ClassDef)} - {"Model", "ModelNew"}
    return all(_class_text(module, name) == _class_text(reference, name) for name in classes)


def _class_text(module: Module, name: str) -> str | None:
    found = module.classes(name)
    if not found:
        return None
    try:
        body = [ast.unparse(_without_docstring(node)) for node in found[-1].body if not _is_docstring(node)]
    except RecursionError:
        return None
    return "\n".join(body).replace("ModelNew", "Model")


def _without_docstring(node: ast.stmt) -> ast.AST:
    if not isinstance(node, ast.FunctionDef) or not node.body or not _is_docstring(node.body[0]):
        return node
    empty: list[ast.stmt] = [ast.Pass()]
    bare = ast.FunctionDef(**{**dict(ast.iter_fields(node)), "body": node.body[1:] or empty, "returns": None})
    return ast.copy_location(bare, node)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _words(value: object) -> tuple[str, ...]:
    return value if isinstance(value, tuple) else ()
