"""What all records share: immutable, versioned, one spelling as JSON."""

from __future__ import annotations

import hashlib
import json
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, model_validator


def canonical_json(value: Any) -> str:
    """The one spelling of a JSON value that digests are taken of: sorted keys, no spaces, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: Any) -> str:
    """SHA-256 of `canonical_json(value)`, as 64 hexadecimal digits."""
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


class Record(BaseModel):
    """Base of all records: immutable, and a field that is not declared is an error."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", use_attribute_docstrings=True, protected_namespaces=(), defer_build=True
    )

    SCHEMA_VERSION: ClassVar[int] = 1

    @model_validator(mode="before")
    @classmethod
    def _drop_computed(cls, data: Any) -> Any:
        """Computed fields are written for people to grep; on reading they are computed afresh."""
        if isinstance(data, dict):
            return {key: value for key, value in data.items() if key not in cls.model_computed_fields}
        return data


class Versioned(Record):
    """A record that stands on a line of its own in a file."""

    schema_version: int = 1
    """Version of this record's fields; a reader refuses one that it does not know."""

    @model_validator(mode="after")
    def _known_version(self) -> Self:
        if self.schema_version != self.SCHEMA_VERSION:
            raise ValueError(f"schema_version {self.schema_version} is unknown, this code reads {self.SCHEMA_VERSION}")
        return self
