"""Costs over sizes as curves: a small SVG of text and lines."""

import math
from collections.abc import Sequence

WORKS = ("search", "index, nothing changed", "index by words")
COLOURS = ("#1b6ca8", "#c05621", "#2f855a")
WIDTH, HEIGHT, LEFT, BOTTOM = 640, 360, 60, 320

Point = tuple[str, int, float, float | None]
"""Work, notes, seconds of ours and of theirs."""


def svg(points: Sequence[Point]) -> str:
    """Both axes logarithmic; ours as solid lines, theirs dashed."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
    ]
    parts += [_text(_x(10**power), BOTTOM + 18, f"{10**power:,}") for power in range(2, 6)]
    for power in range(-1, 4):
        y = _y(10.0**power)
        parts.append(f'<path d="M{LEFT} {y:.0f}H{WIDTH - 160}" stroke="#ddd"/>')
        parts.append(_text(LEFT - 24, y + 4, f"{10.0**power:g} s"))
    parts.append(_text((LEFT + WIDTH - 160) / 2, HEIGHT - 6, "notes"))
    for at, (work, colour) in enumerate(zip(WORKS, COLOURS, strict=True)):
        own = sorted((n, mine, other) for name, n, mine, other in points if name == work)
        parts.append(_curve([(n, mine) for n, mine, _ in own], colour, ""))
        dashed = [(n, other) for n, _, other in own if other is not None]
        parts.append(_curve(dashed, colour, "5 4"))
        parts.append(_text(WIDTH - 80, 30 + 18 * at, work, colour))
    parts.append(_text(WIDTH - 80, 30 + 18 * len(WORKS), "solid: ours, dashed: npm"))
    return "\n".join([*filter(None, parts), "</svg>\n"])


def _curve(points: Sequence[tuple[int, float]], colour: str, dashes: str) -> str:
    if not points:
        return ""
    path = " ".join(f"{_x(n):.1f},{_y(seconds):.1f}" for n, seconds in points)
    return (
        f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2" '
        f'stroke-dasharray="{dashes or "none"}"/>'
    )


def _text(x: float, y: float, text: str, colour: str = "#333") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" fill="{colour}" text-anchor="middle">{text}</text>'


def _x(notes: float) -> float:
    return LEFT + (math.log10(notes) - 2) / 3 * (WIDTH - 160 - LEFT)


def _y(seconds: float) -> float:
    return BOTTOM - (math.log10(seconds) + 2) / 5 * (BOTTOM - 20)
