"""Every rule says in one line what it does, for `snakemake --list`, and in a sentence what a job of it does."""

import ast
import re
import tokenize
from importlib import import_module

import pytest

from tests.workflow.conftest import ROOT

LONGEST = 100  # characters, so that a line of the list fits a terminal
NOT_CODE = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
FILES = [ROOT / "Snakefile", *sorted((ROOT / "workflow").rglob("*.smk"))]


def docstrings(path):
    """Rule or checkpoint -> its docstring, or None. A rule starts a line; `use rule a as b with:` makes the rule b."""
    with path.open("rb") as file:
        tokens = [token for token in tokenize.tokenize(file.readline) if token.type not in NOT_CODE]
    found = {}
    for place, token in enumerate(tokens):
        words = token.line.partition(":")[0].split()
        starts_line = not token.line[: token.start[1]].strip()
        if starts_line and (words[:1] in (["rule"], ["checkpoint"]) or words[:2] == ["use", "rule"]):
            name = words[words.index("as") + 1] if "as" in words else words[1]
            first = tokens[place + len(words) + 1]
            found[name] = ast.literal_eval(first.string) if first.type == tokenize.STRING else None
    return found


RULES = {name: text for path in FILES for name, text in docstrings(path).items()}


def test_every_kind_of_rule_is_found():
    assert {"all", "gate", "generate", "answer_role", "evaluate"} <= set(RULES)


@pytest.mark.parametrize("name", RULES)
def test_a_rule_has_a_docstring_of_one_line(name):
    text = RULES[name]
    assert text, f"{name} has no docstring"
    assert len(text) <= LONGEST, f"{len(text)} characters"
    assert "\n" not in text
    assert text.endswith(".")
    assert list(RULES.values()).count(text) == 1, f"{name} says what another rule says"


def test_a_job_of_every_rule_has_a_sentence():
    texts = [
        re.split(r"^ *(?:use )?(?:rule|checkpoint) \w.*:$", path.read_text(), flags=re.MULTILINE)[1:] for path in FILES
    ]
    rules = [text for parts in texts for text in parts]
    assert len(rules) == len(RULES)
    assert not [text for text in rules if not re.search(r'^ *message:\n +f?".+\."$', text, re.MULTILINE)]


def imports():
    """(file, module, name) of all that workflow scripts and rule files import of hone: no linter follows these."""
    for file in sorted((ROOT / "workflow").rglob("*")):
        if file.suffix in (".py", ".smk"):
            for module, names in re.findall(r"^ *from (hone[\w.]*) import ([\w, ]+)$", file.read_text(), re.MULTILINE):
                yield from ((file.name, module, name.split(" as ")[0].strip()) for name in names.split(","))


@pytest.mark.parametrize(("file", "module", "name"), sorted(set(imports())))
def test_what_scripts_and_rules_import_is_there(file, module, name):
    assert hasattr(import_module(module), name) or import_module(f"{module}.{name}")
