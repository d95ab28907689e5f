"""C++ text as a tree of namespaces, `#if` groups and declarations, read by its words and brackets alone.

No C++ parser: enough to tell which declarations there are and what they are called. Text that does not fit (brackets
that do not close, a namespace that opens in one branch of an `#if` and closes elsewhere) raises `Unreadable`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

TOKEN = re.compile(
    r"""(?P<directive>^[ \t]*\#(?:\\.|[^\n\\])*)"""
    r"""|(?P<text>R"(?P<mark>[^\s()\\]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')"""
    r"""|(?P<word>[A-Za-z_]\w*)|(?P<number>\.?\d(?:[eEpP][+-]|['\w.])*)|(?P<mark2>::|->|[^\s])""",
    re.DOTALL | re.MULTILINE,
)
WORD = re.compile(r"[A-Za-z_]\w*")
OPEN, CLOSE = "([{", ")]}"
CLASS_KEYS = ("struct", "class", "union", "enum")
NOT_A_FUNCTION = ("__launch_bounds__", "__align__", "alignas", "decltype", "noexcept", "requires", "__attribute__")


class Unreadable(Exception):
    """The text is not of the form that is understood here."""


@dataclass(frozen=True)
class Token:
    """One word, mark, literal or whole directive."""

    kind: str
    text: str
    start: int
    end: int


@dataclass
class Declaration:
    """Anything with a name outside functions and classes, or a directive that is not a condition."""

    text: str
    names: frozenset[str]
    """What it declares; empty for what has no name of its own, such as an operator or a `static_assert`."""
    special: frozenset[str] = frozenset()
    """Of a specialisation the words between its angle brackets, of an operator those between its parentheses, without
    their own template parameters."""
    alias: frozenset[str] = frozenset()
    """Of `using A = B`: the words of B."""

    @property
    def words(self) -> frozenset[str]:
        """All identifiers in it."""
        return frozenset(WORD.findall(self.text))


@dataclass
class Namespace:
    """`namespace a {` … `}`."""

    opening: str
    nodes: list[Node] = field(default_factory=list)


@dataclass
class Group:
    """`#if` … `#endif`: the directive of each branch, and what the branch holds."""

    branches: list[tuple[str, list[Node]]] = field(default_factory=list)


Node = Declaration | Namespace | Group


def parse(text: str) -> list[Node]:
    """The tree of a text without comments; raises Unreadable."""
    reader = _Reader(text)
    nodes = reader.nodes()
    if reader.at < len(reader.tokens):
        raise Unreadable(f"unexpected {reader.tokens[reader.at].text!r}")
    return nodes


def directive_word(directive: str) -> str:
    """`if` of `# if X`."""
    found = re.match(r"\s*#\s*(\w*)", directive)
    return found[1] if found else ""


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [
            Token(match.lastgroup or "", match[0], match.start(), match.end()) for match in TOKEN.finditer(text)
        ]
        self.at = 0

    def nodes(self) -> list[Node]:
        found: list[Node] = []
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            word = directive_word(token.text) if token.kind == "directive" else ""
            if word in ("elif", "else", "endif") or token.text == "}":
                break
            if word.startswith("if"):
                found.append(self._group())
            elif token.kind == "directive":
                self.at += 1
                found.append(_directive(token.text))
            elif token.text == ";":
                self.at += 1
            elif (opened := self._namespace_end()) is not None:
                found.append(self._namespace(opened))
            else:
                found.append(self._declaration())
        return found

    def _group(self) -> Group:
        group = Group()
        while True:
            directive = self._take().text
            group.branches.append((directive, self.nodes()))
            if self.at >= len(self.tokens) or self.tokens[self.at].kind != "directive":
                raise Unreadable(f"no #endif for {directive}")
            if directive_word(self.tokens[self.at].text) == "endif":
                self.at += 1
                return group

    def _namespace_end(self) -> int | None:
        """Index of the `{` of a namespace, or of `extern "C" {`, that begins here."""
        ahead = [token.text for token in self.tokens[self.at : self.at + 16]]
        if ahead[0] == "extern" and ahead[1:3] == ['"C"', "{"]:
            return self.at + 2
        position = 1 if ahead[0] == "inline" else 0
        if position >= len(ahead) or ahead[position] != "namespace":
            return None
        position += 1
        while position < len(ahead) and (WORD.fullmatch(ahead[position]) or ahead[position] == "::"):
            position += 1
        return self.at + position if position < len(ahead) and ahead[position] == "{" else None

    def _namespace(self, opened: int) -> Namespace:
        opening = self.text[self.tokens[self.at].start : self.tokens[opened].end]
        self.at = opened + 1
        found = Namespace(opening, self.nodes())
        if self.at >= len(self.tokens) or self.tokens[self.at].text != "}":
            raise Unreadable(f"no closing bracket for {opening}")
        self.at += 1
        return found

    def _declaration(self) -> Declaration:
        first = self.at
        parameters = self._skip_template()
        self._skip_attributes()
        body = self.at
        end = self._skip_to_end()
        text = self.text[self.tokens[first].start : self.tokens[end].end]
        return _described(text, self.tokens[body : end + 1], parameters)

    def _skip_template(self) -> frozenset[str]:
        """Move behind `template <…>` prefixes; gives the words in them."""
        words: set[str] = set()
        while self.at < len(self.tokens) and self.tokens[self.at].text == "template":
            self.at += 1
            end = _closing_angle(self.tokens, self.at)
            words.update(_words(self.tokens[self.at : end]))
            self.at = end + 1
        return frozenset(words)

    def _skip_attributes(self) -> None:
        """Move behind `[[…]]` in front of what is declared."""
        while self.at < len(self.tokens) and (end := _attribute_end(self.tokens, self.at)) is not None:
            self.at = end + 1

    def _skip_to_end(self) -> int:
        """Move behind the declaration; gives the index of its last token."""
        depth, initialised, skipped = 0, False, _Branches()
        of_class = self.tokens[self.at].text in CLASS_KEYS if self.at < len(self.tokens) else False
        while self.at < len(self.tokens):
            token = self._take()
            if token.kind == "directive":
                skipped.see(token.text)
            elif skipped.inactive or token.kind == "text":
                continue
            elif token.text in OPEN:
                of_class &= token.text != "(" or depth > 0 or self.tokens[self.at - 2].text in NOT_A_FUNCTION
                depth += 1
            elif token.text in CLOSE:
                depth -= 1
                if depth < 0:
                    raise Unreadable("a bracket closes that was not opened")
                if token.text == "}" and depth == 0 and not initialised and not of_class:
                    if self.at < len(self.tokens) and self.tokens[self.at].text == ";":
                        self.at += 1
                    return self.at - 1
            elif token.text == "operator":
                while self.at < len(self.tokens) and self.tokens[self.at].text != "(":
                    self.at += 1
            elif depth == 0 and token.text == "=":
                initialised = True
            elif depth == 0 and token.text == ";":
                return self.at - 1
        raise Unreadable("a declaration does not end")

    def _take(self) -> Token:
        token = self.tokens[self.at]
        self.at += 1
        return token


class _Branches:
    """Inside a declaration only the first branch of an `#if` counts: all are meant to close the same brackets."""

    def __init__(self) -> None:
        self._stack: list[bool] = []

    @property
    def inactive(self) -> bool:
        return any(self._stack)

    def see(self, directive: str) -> None:
        word = directive_word(directive)
        if word.startswith("if"):
            self._stack.append(False)
        elif word in ("elif", "else") and self._stack:
            self._stack[-1] = True
        elif word == "endif" and self._stack:
            self._stack.pop()


def _directive(text: str) -> Declaration:
    found = re.match(r"\s*#\s*(?:define|undef)\s+(\w+)", text)
    return Declaration(text, frozenset({found[1]}) if found else frozenset())


def _described(text: str, tokens: Sequence[Token], parameters: frozenset[str]) -> Declaration:
    tokens = _without_attributes(tokens)
    head = tokens[0].text
    if head == "using":
        return _using(text, tokens)
    if head == "typedef":
        return Declaration(text, frozenset(_words(tokens)[-1:]))
    if head in ("static_assert", "asm"):
        return Declaration(text, frozenset())
    if head in CLASS_KEYS:
        return _class(text, tokens, parameters)
    at = _name_end(tokens)
    operator = next((index for index, token in enumerate(tokens) if token.text == "operator"), None)
    if operator is not None and operator <= at + 1:
        return Declaration(text, frozenset(), frozenset(_parameters(tokens, operator)) - parameters)
    at, special = _without_angles(tokens, at)
    while at >= 2 and tokens[at - 1].text == "::":  # a member defined outside its class belongs to the class
        at, special = _without_angles(tokens, at - 2)
    names = {tokens[at].text} if at >= 0 else set()
    return Declaration(text, frozenset(names), frozenset(special) - parameters)


def _using(text: str, tokens: Sequence[Token]) -> Declaration:
    words = _words(tokens)
    if "=" not in (token.text for token in tokens):
        return Declaration(text, frozenset() if words[1:2] == ["namespace"] else frozenset(words[-1:]))
    return Declaration(text, frozenset(words[1:2]), alias=frozenset(words[2:]))


def _class(text: str, tokens: Sequence[Token], parameters: frozenset[str]) -> Declaration:
    """Its name is the last word before `{`, `:`, `;` or the angle brackets of a specialisation."""
    end = next((at for at, token in enumerate(tokens) if token.text in "{:;" and token.text), len(tokens))
    at, special = _without_angles(tokens, end - 1)
    while at >= 0 and tokens[at].text == "final":
        at, special = _without_angles(tokens, at - 1)
    names = {tokens[at].text} if at >= 0 else set()
    if tokens[0].text == "enum":
        names.update(_words(tokens[end:]))
    return Declaration(text, frozenset(names), frozenset(special) - parameters)


def _name_end(tokens: Sequence[Token]) -> int:
    """Index of the last token of the declared name: what stands before `(` of a function, `=`, `{`, `[` or `;`."""
    at = 0
    while at < len(tokens):
        text = tokens[at].text
        if text == "(" and at and tokens[at - 1].text in NOT_A_FUNCTION:
            at = _closing(tokens, at)
        elif text == "<":
            at = _closing_angle(tokens, at)
        elif text in ("(", "=", "{", "[", ";", ":"):
            return at - 1
        at += 1
    return len(tokens) - 1


def _attribute_end(tokens: Sequence[Token], at: int) -> int | None:
    """Index of the last `]` of an attribute such as `[[noreturn]]` that begins at `at`; None where none does."""
    if [token.text for token in tokens[at : at + 2]] != ["[", "["]:
        return None
    depth = 0
    for index in range(at, len(tokens)):
        depth += (tokens[index].text == "[") - (tokens[index].text == "]")
        if depth == 0:
            return index
    raise Unreadable("an attribute does not close")


def _without_attributes(tokens: Sequence[Token]) -> Sequence[Token]:
    kept, at = [], 0
    while at < len(tokens):
        end = _attribute_end(tokens, at)
        if end is None:
            kept.append(tokens[at])
        at = at + 1 if end is None else end + 1
    return kept


def _parameters(tokens: Sequence[Token], operator: int) -> list[str]:
    """The words of an operator's parameters: those of the last parentheses that open right behind its name."""
    at = next((index for index in range(operator, len(tokens)) if tokens[index].text == "("), None)
    if at is None:
        return []
    if tokens[at + 1].text == ")" and tokens[at + 2].text == "(":  # operator()
        at += 2
    return _words(tokens[at : _closing(tokens, at)])


def _closing(tokens: Sequence[Token], at: int) -> int:
    depth = 0
    for index in range(at, len(tokens)):
        depth += (tokens[index].text == "(") - (tokens[index].text == ")")
        if depth == 0:
            return index
    raise Unreadable("a parenthesis does not close")


def _closing_angle(tokens: Sequence[Token], at: int) -> int:
    """Index of the `>` to the `<` at `at`; within parentheses both compare."""
    depth = inside = 0
    for index in range(at, len(tokens)):
        text = tokens[index].text
        inside += (text == "(") - (text == ")")
        depth += 0 if inside else (text == "<") - (text == ">")
        if depth == 0:
            return index
    return at


def _without_angles(tokens: Sequence[Token], at: int) -> tuple[int, list[str]]:
    """Index of the word before `<…>` where that ends at `at`, and the words between."""
    if at < 0 or tokens[at].text != ">":
        return at, []
    depth = 0
    for index in range(at, -1, -1):
        depth += (tokens[index].text == ">") - (tokens[index].text == "<")
        if depth == 0:
            return index - 1, _words(tokens[index:at])
    return at, []


def _words(tokens: Sequence[Token]) -> list[str]:
    return [token.text for token in tokens if token.kind == "word"]


def declarations(nodes: Sequence[Node]) -> Iterator[Declaration]:
    """All declarations of a tree."""
    for node in nodes:
        if isinstance(node, Declaration):
            yield node
        elif isinstance(node, Namespace):
            yield from declarations(node.nodes)
        else:
            for _, inside in node.branches:
                yield from declarations(inside)
