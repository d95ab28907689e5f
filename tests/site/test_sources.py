"""Source as tokens, and differences: nothing is lost, nothing is added."""

from hypothesis import given
from hypothesis import strategies as st

from hone.records import Language
from hone.site.sources import COMPARED_LINES, HIGHLIGHTED_CHARACTERS, lines_of, opcodes

CODE = st.text(st.sampled_from("ab1 \t\n\"'/*#<>{}()&;\\\u2028é"), max_size=80)


def joined(lines):
    return "\n".join("".join(text for _, text in line) for line in lines)


@given(CODE, st.sampled_from(list(Language)))
def test_the_tokens_joined_are_the_source(text, language):
    assert joined(lines_of(text, language)) == text.removesuffix("\n")


def test_a_keyword_a_comment_and_a_string_have_colours():
    first = lines_of('return "a";  // why\n', Language.CPP)[0]
    kinds = {text.strip(): kind for kind, text in first}
    assert kinds["return"] == "k"
    assert kinds["// why"].startswith("c")
    assert all(len(kind) <= 3 for kind, _ in first)


def test_a_very_long_text_is_whole_and_plain():
    text = "int x = 1;\n" * (HIGHLIGHTED_CHARACTERS // 11 + 1)
    lines = lines_of(text, Language.CPP)
    assert joined(lines) == text.removesuffix("\n")
    assert {kind for line in lines for kind, _ in line} == {""}


@given(CODE, CODE)
def test_a_difference_covers_both_texts_and_its_equal_parts_are_equal(before, after):
    one, two = before.split("\n"), after.split("\n")
    left, right = [], []
    for tag, a1, a2, b1, b2 in opcodes(before, after):
        left += one[a1:a2]
        right += two[b1:b2]
        assert (one[a1:a2] == two[b1:b2]) == (tag == "equal")
    assert (left, right) == (one, two)


def test_no_difference_is_computed_of_very_long_texts():
    text = "a\n" * COMPARED_LINES
    assert [code[0] for code in opcodes(text, text)] == ["replace"]
