"""How an answer came about: the pipeline, and how a hit's ranks led to its score."""

from collections.abc import Mapping, Sequence

from qmd_py.records.answers import Answer, Hit, Share, Stage
from qmd_py.render import styled
from qmd_py.render.styled import HANG, Line

_PARTS = {"bm25": "words", "note": "words", "near": "words"}
"""Run → the fused list that it went into."""
_COLUMNS = 9  # of a stage's name


def pipeline(answer: Answer) -> list[Line]:
    """The question, then each stage in its order: what it took and did, or why it was left out."""
    told = _told(answer)
    rows = _rows(answer, told)
    longest = max((stage.seconds for stage in answer.stages), default=0.0)
    lines: list[Line] = [[("", "title"), HANG, (answer.query, "title")]]
    for at, (name, stage) in enumerate(rows):
        last = at == len(rows) - 1
        lines.append(_stage(name, stage, longest, "└" if last else "├"))
        lines += [
            [(" " if last else "│", "faint"), ("   ", ""), *line] for line in told.get(name, ())
        ]
    return lines


def shares(hit: Hit, answer: Answer) -> list[Line]:
    """What each run said of a hit (rank, score, part of the fused score), and what came of it."""
    named = [(_indented(share, hit.shares), share) for share in _ordered(hit.shares)]
    wide = max([len("run"), *(styled.width(name) for name, _ in named)])
    lines: list[Line] = [[(f"  {'run':<{wide}}  rank     score   share", "faint")]]
    for name, share in named:
        line: Line = [
            ("  " + styled.filled(name, wide), ""),
            (f"{share.rank:6}", "number"),
            (f"{share.score:10.3f}", ""),
        ]
        if share.contribution is not None:
            line += [(f"{share.contribution:8.3f}", ""), *styled.bar(share.contribution)]
        lines.append(line)
    return [*lines, *_sum(hit, answer, wide)]


def _rows(answer: Answer, told: Mapping[str, Sequence[Line]]) -> list[tuple[str, Stage | None]]:
    """The stages by name; one that did not run comes before the last, which makes the answer."""
    run = [(stage.name, stage) for stage in answer.stages]
    ran = {stage.name for stage in answer.stages}
    left_out: list[tuple[str, Stage | None]] = [(name, None) for name in told if name not in ran]
    return [*run[:-1], *left_out, *run[-1:]]


def _told(answer: Answer) -> dict[str, list[Line]]:
    """Stage → what is to be said below it."""
    told: dict[str, list[Line]] = {}
    first = answer.stages[0].name if answer.stages else "retrieve"
    for typed, terms in answer.respelled.items():
        said: Line = [("", ""), HANG, (f"'{typed}' is not in the index, looked for ", "faint")]
        told.setdefault(first, []).append([*said, (", ".join(terms), "")])
    for reason in answer.skipped:
        name, _, why = reason.partition(": ")
        told.setdefault(name, []).append([("skipped  ", "faint"), HANG, (why, "")])
    if answer.variants or answer.dropped:
        told.setdefault("expand", []).append([("from     ", "faint"), (answer.widened_by, "")])
    elif answer.widened_by.startswith("skipped: "):
        why = answer.widened_by.removeprefix("skipped: ")
        told.setdefault("expand", []).append([("skipped  ", "faint"), HANG, (why, "")])
    for variant in answer.variants:
        told["expand"].append([(f"{variant.kind:<9}", "faint"), HANG, (variant.text, "")])
    for variant, reason in answer.dropped:
        line: Line = [(f"{variant.kind:<9}", "faint"), HANG, (variant.text, "faint")]
        told["expand"].append([*line, (f"  dropped: {reason}", "")])
    return told


def _stage(name: str, stage: Stage | None, longest: float, branch: str) -> Line:
    line: Line = [(f"{branch} ", "faint"), (f"{name:<{_COLUMNS}}", "title")]
    if stage is None:
        return [*line[:-1], (name, "faint")]
    line.append((f"{stage.seconds * 1000:6.0f} ms", "number"))
    line += styled.bar(stage.seconds / longest if longest else 0.0)
    return [*line, HANG, (f"  {stage.note}" if stage.note else "", "")]


def _ordered(found: Sequence[Share]) -> list[Share]:
    """The shares with parts of a fused list below it."""
    there = {share.run for share in found}
    below = [share for share in found if _PARTS.get(share.run) in there]
    return [
        one
        for share in found
        if share not in below
        for one in (share, *(part for part in below if _PARTS[part.run] == share.run))
    ]


def _indented(share: Share, found: Sequence[Share]) -> str:
    part = _PARTS.get(share.run) in {other.run for other in found}
    return f"  {share.run}" if part else share.run


def _sum(hit: Hit, answer: Answer, wide: int) -> list[Line]:
    """From the fused score to the one that is shown; nothing where no lists were fused."""
    fused = sum(share.contribution or 0.0 for share in hit.shares)
    if not fused:
        return []
    read = hit.matches[0].evidence.get("rerank")
    aged = any(share.run == "recent" for share in hit.shares)
    steps = [f"the reranker says {read:.2f}"] if read is not None else []
    steps += ["its age"] if aged else []
    if not steps:
        steps = [f"sure of an answer {min(hit.score / fused, 1.0):.2f}"]
    return [
        [
            ("  " + "fused".ljust(wide), "faint"),
            (f"{'':16}{fused:8.3f}", ""),
            HANG,
            (f"  {', '.join(steps)} → ", "faint"),
            (f"{hit.score:.2f}", "number"),
        ]
    ]
