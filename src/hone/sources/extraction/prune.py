"""Only what a launcher can reach: declarations whose names are mentioned, starting from the launcher's own text.

By names alone, so rather too much is kept than too little: all overloads of a name, whatever mentions it. The exception
is a specialisation (`struct vec_t<__nv_fp8_e4m3, 4>`): it is kept only when every type between its brackets is
mentioned by something else, since no other type can select it. The kernels' PTX stays the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from hone.sources.extraction.declarations import (
    WORD,
    Declaration,
    Group,
    Namespace,
    Node,
    Unreadable,
    declarations,
    directive_word,
    parse,
)

TYPE_WORDS = {
    "float16": ("half", "__half", "nv_half", "half2", "__half2", "nv_half2"),
    "bfloat16": ("nv_bfloat16", "__nv_bfloat16", "nv_bfloat162", "__nv_bfloat162"),
    "float32": ("float2", "float4"),
}
"""What CUDA calls the types of the launchers, and vectors of them."""
BUILT_IN = """
    bool char const constexpr double false float int int8_t int16_t int32_t int64_t long short signed size_t sizeof std
    true typename uint uint8_t uint16_t uint32_t uint64_t unsigned void volatile
"""


def prune(text: str, launcher: str, dtypes: Iterable[str]) -> str:
    """The part of a text without comments that `launcher` needs; all of it where it cannot be taken apart."""
    try:
        nodes = parse(text)
    except Unreadable:
        return text
    seen = {
        *BUILT_IN.split(),
        *WORD.findall(launcher),
        *(word for dtype in dtypes for word in TYPE_WORDS.get(dtype, ())),
    }
    kept = _Reach(nodes).reached(seen)
    return _written(nodes, kept)


class _Reach:
    """Which declarations are reached from a set of words."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._all = list(declarations(nodes))
        self._by_name: dict[str, list[Declaration]] = defaultdict(list)
        self._aliases: dict[str, frozenset[str]] = {}
        for item in self._all:
            for name in item.names:
                self._by_name[name].append(item)
                if item.alias:
                    self._aliases[name] = item.alias
        self._conditions = {word for node in nodes for word in _condition_words(node)}

    def reached(self, seen: set[str]) -> set[int]:
        """Identities of the declarations that are kept; `seen` grows by their words."""
        seen |= {word for word in self._conditions if word in self._by_name}
        kept: set[int] = set()
        growing = True
        while growing:
            growing = False
            for item in self._all:
                if id(item) not in kept and self._wanted(item, seen):
                    kept.add(id(item))
                    seen |= item.words
                    growing = True
        return kept

    def _wanted(self, item: Declaration, seen: set[str]) -> bool:
        if item.names:
            return not seen.isdisjoint(item.names) and all(self._known(word, seen) for word in item.special)
        if directive_word(item.text) or item.text.startswith("using"):
            return directive_word(item.text) == "include"
        declared = [word for word in item.special or item.words if word in self._by_name]
        return bool(declared) and all(word in seen for word in declared)

    def _known(self, word: str, seen: set[str]) -> bool:
        """Whether a type is mentioned, under this name or as what it is an alias of."""
        return word in seen or (word in self._aliases and all(self._known(part, seen) for part in self._aliases[word]))


def _condition_words(node: Node) -> set[str]:
    if isinstance(node, Declaration):
        return set()
    if isinstance(node, Namespace):
        return {word for inside in node.nodes for word in _condition_words(inside)}
    own = {word for directive, _ in node.branches for word in WORD.findall(directive)}
    return own | {word for _, inside in node.branches for part in inside for word in _condition_words(part)}


def _written(nodes: Sequence[Node], kept: set[int]) -> str:
    """The text of what is kept, namespaces and groups without content left out."""
    parts = []
    for node in nodes:
        if isinstance(node, Declaration):
            if id(node) in kept:
                parts.append(node.text.strip("\n") + "\n")
        elif isinstance(node, Namespace):
            parts.append(_namespace(node, kept))
        else:
            parts.append(_group(node, kept))
    return "".join(parts)


def _namespace(node: Namespace, kept: set[int]) -> str:
    inside = _written(node.nodes, kept)
    if not inside:
        return ""
    brought = [item.text + "\n" for item in node.nodes if isinstance(item, Declaration) and _brings_names(item)]
    return f"{node.opening}\n{''.join(brought)}{inside}}}\n"


def _brings_names(item: Declaration) -> bool:
    return item.text.startswith("using") and not item.names


def _group(node: Group, kept: set[int]) -> str:
    branches = [(directive, _written(inside, kept)) for directive, inside in node.branches]
    if not any(text for _, text in branches):
        return ""
    return "".join(f"{directive.strip()}\n{text}" for directive, text in branches) + "#endif\n"
