"""SVG files made small: the same picture in a third of the bytes, and the same bytes every time."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
GROUP, USE, STYLE, PATH = (f"{{{SVG}}}{name}" for name in ("g", "use", "style", "path"))
HREF = f"{{{XLINK}}}href"
GLYPH = re.compile(r"#?DejaVuSans-(?:\w+-)?")
GLYPHS = re.compile(r"#g\w+")
SHIFT = re.compile(r"translate\(([-\d.]+) 0\)")
COMMAND = re.compile(r" ?([A-Za-z]) ?")
NUMBER = re.compile(r"-?\d+\.\d+")
NAMED = re.compile(r"(?<=[#\"])[a-z][0-9a-f]{10}\b")
"""Names of clips, marks and hatches: a letter and a hash."""


def slim(text: str) -> str:
    """A file of matplotlib's, smaller: coordinates to a hundredth of a point, styles as classes, no empty groups.

    Letters are outlines already; what they spell stays in comments, so that a file can be searched.
    """
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", XLINK)
    parser = ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True))
    root = ElementTree.fromstring(text, parser)
    _drop_metadata(root)
    for element in root.iter():
        if isinstance(element.tag, str):
            _shorten(element)
    _share_styles(root)
    _share_words(root)
    _unwrap(root)
    names: dict[str, str] = {}
    short = ElementTree.tostring(root, encoding="unicode").replace(" />", "/>")
    return NAMED.sub(lambda name: names.setdefault(name.group(), f"{name.group()[0]}{len(names)}"), short) + "\n"


def _drop_metadata(root: Element) -> None:
    for element in root.findall(f"{{{SVG}}}metadata"):
        root.remove(element)


def _shorten(element: Element) -> None:
    """Short numbers and names; nothing refers to a group by its name."""
    if element.tag == GROUP:
        element.attrib.pop("id", None)
    outline = element.tag == PATH and GLYPH.match(element.get("id", "")) is not None
    if element.tag == USE and GLYPH.match(element.get(HREF, "")):
        shift = SHIFT.fullmatch(element.attrib.pop("transform", "translate(0 0)"))
        if shift and float(shift.group(1)):
            element.set("x", f"{float(shift.group(1)):.0f}")
        element.set(HREF, GLYPH.sub("#g", element.get(HREF, "")))
    if outline:
        element.set("id", GLYPH.sub("g", element.get("id", "")))
    for name in ("d", "x", "y", "width", "height"):
        if name in element.attrib:
            element.set(name, COMMAND.sub(r"\1", NUMBER.sub(_rounded, " ".join(element.attrib[name].split()))))
    if "transform" in element.attrib:
        parts = re.split(r"(?=scale)", element.attrib["transform"])
        element.set("transform", "".join(part if "scale" in part else NUMBER.sub(_rounded, part) for part in parts))


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number.group()):.2f}".rstrip("0").rstrip(".")


def _share_styles(root: Element) -> None:
    """Styles that stand more than once become classes, named in the order of the file."""
    styled = [element for element in root.iter() if "style" in element.attrib]
    often = Counter(element.attrib["style"] for element in styled)
    names = {style: f"s{index}" for index, style in enumerate(style for style, n in often.items() if n > 1)}
    for element in styled:
        if element.attrib["style"] in names:
            element.set("class", names[element.attrib.pop("style")])
    sheet = next(root.iter(STYLE))
    sheet.text = (sheet.text or "") + "".join(f"\n.{name}{{{style}}}" for style, name in names.items())


def _share_words(root: Element) -> None:
    """Words that stand more than once are spelled once, in the order of the file."""
    groups = [group for group in root.iter(GROUP) if any(GLYPHS.match(each.get(HREF, "")) for each in group)]
    spelled = [tuple((each.get(HREF), each.get("x")) for each in group.findall(USE)) for group in groups]
    often, names = Counter(spelled), dict[tuple[Any, ...], str]()
    for group, word in zip(groups, spelled, strict=True):
        if often[word] == 1 or len(word) == 1:
            continue
        letters = group.findall(USE)
        for letter in letters:
            group.remove(letter)
        if word in names:
            ElementTree.SubElement(group, USE, {HREF: f"#{names[word]}"})
        else:
            names[word] = f"w{len(names)}"
            ElementTree.SubElement(group, GROUP, {"id": names[word]}).extend(letters)


def _unwrap(parent: Element) -> None:
    """Groups without attributes give way to what they hold; one element a line, the letters of a word on one."""
    children: list[Element] = []
    for child in parent:
        _unwrap(child)
        children += list(child) if child.tag == GROUP and not child.attrib else [child]
    parent[:] = children
    for child in children:
        child.tail = "" if child.tag == USE and "y" not in child.attrib else "\n"
    if children and parent.tag != STYLE:
        parent.text = "" if children[0].tag == USE and "y" not in children[0].attrib else "\n"
