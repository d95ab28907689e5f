"""Who improves kernels in rounds: the team of each method, which jobs, rules, prompts and pages read.

To add a method with roles, describe its team here, add its name to `Method` in `hone.config.settings`, and write
`config/prompts/<method>/testing.md` and `<role>.md` for each role. No rule is needed: `ask_role` asks all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Role:
    """One who is asked about each kernel with a prompt of its own, and remembers nothing.

    What it is told of others goes by the names that its template uses.
    """

    name: str
    told: Mapping[str, str] = field(default_factory=dict)
    """Name -> the role whose answer about this kernel in the same turn it is."""
    told_before: Mapping[str, str] = field(default_factory=dict)
    """Name -> the role whose answers about this kernel in all rounds before they are."""
    told_of_others: Mapping[str, str] = field(default_factory=dict)
    """Name -> the role whose answers about the kernels of the jobs before they are."""


@dataclass(frozen=True)
class Team:
    """The roles of one method."""

    title: str
    """As a sentence names it."""
    first: str
    """Who is asked for the suite, by `testing.md`."""
    reason: str
    """Whose words say why a version is as it is."""
    roles: tuple[Role, ...] = ()
    """Of a round, in their order, the coder last; none: `first` does all, in one conversation."""
    notes: Role | None = None
    """Who writes down after the last round what it taught."""

    @property
    def coder(self) -> str:
        """Who writes the kernels, and is asked for all candidates of a round."""
        return self.roles[-1].name if self.roles else self.first

    @property
    def asked(self) -> Mapping[str, Role]:
        """All that have a prompt of their own, by name; `first` has the suite's alone."""
        return {role.name: role for role in (*self.roles, *([self.notes] if self.notes else []))}


TEAMS: Mapping[str, Team] = {
    "astra": Team(
        title="several roles",
        first="testing",
        reason="planning",
        roles=(
            Role("profiling"),
            Role("planning", {"analysis": "profiling"}, {"plans": "planning"}, {"notes": "experience"}),
            Role("coding", {"plan": "planning"}),
        ),
        notes=Role("experience", told_before={"plans": "planning"}),
    ),
    "astra_single": Team(title="one agent", first="single", reason="single"),
}
