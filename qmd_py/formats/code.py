"""Source code: its classes and functions are its sections."""

import functools
import importlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tree_sitter import Language, Node, Parser

from qmd_py.markdown import Block, Document, Lines
from qmd_py.markdown.frontmatter import FrontMatter
from qmd_py.markdown.tree import Heading, Spot, grow

_LARGEST = 500_000  # characters; what is longer was hardly written by hand
_DEEPEST = 60  # levels of syntax that are looked at
_LONGEST_NAME = 60  # characters
_CONTAINERS = frozenset({
    "abstract_class_declaration", "class", "class_declaration", "class_definition",
    "class_specifier", "enum_declaration", "enum_item", "enum_specifier", "impl_item",
    "interface_declaration",
    "internal_module", "mod_item", "module", "namespace_declaration", "namespace_definition",
    "record_declaration", "struct_declaration", "struct_item", "struct_specifier",
    "trait_declaration", "trait_item", "union_specifier",
})  # fmt: skip
_FUNCTIONS = frozenset({
    "constructor_declaration", "function_declaration", "function_definition", "function_item",
    "generator_function_declaration", "macro_definition", "method", "method_declaration",
    "method_definition", "singleton_method", "type_alias_declaration", "type_declaration",
})  # fmt: skip
_VALUES = frozenset({"arrow_function", "class", "function_expression", "generator_function"})
_WRAPPERS = frozenset({
    "decorated_definition", "export_statement", "lexical_declaration", "template_declaration",
    "variable_declaration",
})  # fmt: skip
_BEFORE = frozenset({"attribute_item", "block_comment", "comment", "line_comment"})
_WORD = re.compile(r"\w")
_CLOSERS = re.compile(r"\s*(?:end|fi|done|esac|#endif.*)?[\s})\];,]*")


@dataclass(frozen=True, slots=True)
class _Part:
    """A class or function, or what stands between two, and its 0-based lines (exclusive stop)."""

    name: str
    level: int
    start: int
    stop: int


def parse(text: str, name: str, grammar: tuple[str, str]) -> Document:
    """Parse a file of source code.

    Statements that stand between its definitions are sections too, named by their first line, so
    that every section is exactly what it says.

    Args:
        text: the code.
        name: the file's name, which is the title.
        grammar: module and function of the language's grammar.
    """
    lines = Lines.of(text)
    if len(text) > _LARGEST:
        return Document(lines, FrontMatter(), name, (), (), None)
    # joined by LF, so that the rows of the tree are these lines
    tree = Parser(_language(*grammar)).parse("\n".join(lines.lines).encode("utf-8", "replace"))
    parts = _parts(tree.root_node, lines.lines)
    spots, blocks = _spots(parts, lines, name), _blocks(tree.root_node)
    return Document(lines, FrontMatter(), name, spots, blocks, None)


@functools.cache
def _language(module: str, function: str) -> Language:
    return Language(getattr(importlib.import_module(module), function)())


def _spots(parts: Sequence[_Part], lines: Lines, name: str) -> tuple[Spot, ...]:
    headings = [Heading(part.name, part.level, part.start, part.start) for part in parts]
    spots = grow(headings, lines, 0, name, None)
    opening = len(spots) - len(parts)
    return spots[:opening] + tuple(
        _ended(spot, part.stop, lines) for spot, part in zip(spots[opening:], parts, strict=True)
    )


def _ended(spot: Spot, stop: int, lines: Lines) -> Spot:
    """A section that ends where its definition does, not where the next one begins."""
    section = replace(spot.section, last_line=lines.number(stop - 1))
    return replace(spot, section=section, stop=stop)


def _parts(root: Node, lines: Sequence[str]) -> list[_Part]:
    """Definitions and what stands between them, in order; none where nothing is defined."""
    found = list(_definitions(root, 1, 0))
    if not found:
        return []
    filled: list[_Part] = []
    _fill(found, lines, filled)
    return filled


@dataclass(frozen=True, slots=True)
class _Span:
    """Lines of a definition with what belongs to it: decorators, `export`, the comment above."""

    start: int
    stop: int


def _definitions(
    node: Node, level: int, floor: int, depth: int = 0, outer: _Span | None = None
) -> Iterator[_Part]:
    """Every definition below a node, an outer one before those inside it.

    Args:
        node: where to look.
        level: of what is found there.
        floor: first line that can belong to it.
        depth: of the node.
        outer: the lines of the node, where it is only the wrapping of a definition.
    """
    if depth > _DEEPEST:
        return
    for child, span in _with_comments(node, floor):
        lines = outer or span
        name = _name(child)
        if name:
            yield _Part(name, level, lines.start, lines.stop)
            if child.type in _CONTAINERS:
                yield from _definitions(child, level + 1, child.start_point.row + 1, depth + 1)
        else:
            wrapping = lines if child.type in _WRAPPERS else None
            yield from _definitions(child, level, floor, depth + 1, wrapping)


def _with_comments(node: Node, floor: int) -> Iterator[tuple[Node, _Span]]:
    """The inner nodes, each with the comments that stand right above it, on lines of their own."""
    above, taken = None, floor
    for child in node.named_children:
        row, stop = child.start_point.row, _last_row(child)
        if child.type in _BEFORE:
            if row < taken:
                above = None
            else:
                above = _Span(above.start if above and above.stop == row else row, stop)
        else:
            yield child, _Span(above.start if above and above.stop == row else row, stop)
            above = None
        taken = stop


def _name(node: Node) -> str | None:
    """What a definition is called; None for every other node."""
    if node.type == "variable_declarator":
        value = node.child_by_field_name("value")
        is_definition = value is not None and value.type in _VALUES
    elif node.type.endswith("_specifier"):
        is_definition = node.type in _CONTAINERS and node.child_by_field_name("body") is not None
    else:
        is_definition = node.type in _CONTAINERS or node.type in _FUNCTIONS
    if not is_definition:
        return None
    text = _called(node)
    return " ".join(text.split())[:_LONGEST_NAME] or None if text else None


def _called(node: Node) -> str | None:
    if node.type == "impl_item":
        names = [node.child_by_field_name(field) for field in ("trait", "type")]
        return " for ".join(_text(name) for name in names if name)
    if node.type == "type_declaration":  # of Go: one or several specifications
        specs = [child.child_by_field_name("name") for child in node.named_children]
        return ", ".join(_text(name) for name in specs if name)
    name = node.child_by_field_name("name") or _declared(node)
    receiver = node.child_by_field_name("receiver")
    if receiver and name:  # a method of Go says of what in front of its name
        owner = re.findall(r"\w+", _text(receiver).partition("[")[0])
        return f"{owner[-1]}.{_text(name)}" if owner else _text(name)
    return _text(name) if name else None


def _declared(node: Node) -> Node | None:
    """The name inside the declarators of C."""
    inner = node.child_by_field_name("declarator")
    while inner:
        deeper = inner.child_by_field_name("declarator")
        if deeper is None:
            return inner
        inner = deeper
    return None


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _last_row(node: Node) -> int:
    """The line after its last."""
    end = node.end_point
    return end.row + 1 if end.column else end.row


def _fill(parts: Sequence[_Part], lines: Sequence[str], filled: list[_Part]) -> None:
    """Put what stands between definitions beside them; what shares a line with one is left out."""
    open_: list[_Part] = []
    at = parts[0].start
    for part in parts:
        while open_ and part.level <= open_[-1].level:
            at = _close(open_.pop(), at, lines, filled)
        if part.start < at:
            continue
        if filled and filled[-1] is not (open_[-1] if open_ else None):
            _between(at, part.start, part.level, lines, filled)
        filled.append(part)
        open_.append(part)
        at = part.start + 1
    while open_:
        at = _close(open_.pop(), at, lines, filled)
    _between(at, len(lines), 1, lines, filled)


def _close(part: _Part, at: int, lines: Sequence[str], filled: list[_Part]) -> int:
    """End a definition: what follows the last one inside it is a part of its own."""
    if filled[-1] is not part:
        _between(at, part.stop, part.level + 1, lines, filled)
    return part.stop


def _between(start: int, stop: int, level: int, lines: Sequence[str], filled: list[_Part]) -> None:
    """Lines between definitions as one part, named by the first that says something."""
    said = [at for at in range(start, stop) if not _CLOSERS.fullmatch(lines[at])]
    names = [lines[at].strip() for at in said if _WORD.search(lines[at])]
    if names:
        name = " ".join(names[0].split())[:_LONGEST_NAME]
        filled.append(_Part(name, level, said[0], said[-1] + 1))


def _blocks(root: Node) -> tuple[Block, ...]:
    """Syntax of more than a line, for cutting long definitions between statements."""
    found: list[Block] = []
    waiting = [(root, 0)]
    while waiting:
        node, depth = waiting.pop()
        for child in node.named_children:
            start, stop = child.start_point.row, max(_last_row(child), child.start_point.row + 1)
            found.append(Block(start, stop, depth, whole=False, code=True))
            if stop > start + 1 and depth < _DEEPEST:
                waiting.append((child, depth + 1))
    return tuple(found)
