"""Config files as plain values, before anything is validated: YAML (and so JSON) in which no key stands twice."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from hone.core.errors import ConfigError

MERGE = "tag:yaml.org,2002:merge"
"""Of the key `<<`, which may stand there several times."""

REMEDY = "name a file of your own or of config/; paths count from where the command runs: the folder of the checkout"


class _UniqueKeys(yaml.SafeLoader):
    """YAML lets the last of two equal keys win without a word, which would lose a whole experiment."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """As its base, before keys are merged, which one's own may replace; raises ConfigError."""
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        seen: dict[tuple[str, str], yaml.Mark] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag == MERGE:
                continue
            first = seen.setdefault((key.tag, key.value), key.start_mark)
            if first is not key.start_mark:
                problem = f"'{key.value}' stands twice, in lines {first.line + 1} and {key.start_mark.line + 1}"
                remedy = "give one of them another name, or delete it: only the last would count"
                raise ConfigError(problem, where=first.name, remedy=remedy)
        return node


def read_values(path: Path) -> dict[str, Any]:
    """The values of a YAML file; raises ConfigError where it is missing, not YAML, or has a key twice."""
    try:
        with path.open(encoding="utf-8") as file:
            values = yaml.load(file, _UniqueKeys)  # a SafeLoader
    except FileNotFoundError:
        raise ConfigError("no such config file", where=str(path), remedy=REMEDY) from None
    except OSError as error:  # a folder, or no right to read
        raise ConfigError(f"cannot read: {error.strerror}", where=str(path), remedy=REMEDY) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        tab = isinstance(error, yaml.scanner.ScannerError) and r"'\t'" in str(error.problem)
        remedy = "indent with spaces: YAML allows no tab there" if tab else "correct the file there"
        raise ConfigError(f"not a YAML file: {error}", where=str(path), remedy=remedy) from None
    if not isinstance(values, dict):
        raise ConfigError("must hold key: value pairs", where=str(path))
    return values


def check_files(paths: Iterable[Path]) -> None:
    """Raise ConfigError where a file that another program has read says something twice."""
    for path in paths:
        read_values(path)
