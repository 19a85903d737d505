"""Draws figures against sizes as SVG: both axes logarithmic, a line for each series, named at its end."""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil, floor, log10
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 64, 150, 54, 40
APART = 14  # pixels between two names
COLOURS = ("#1f6ba5", "#d9480f", "#2b8a3e", "#862e9c", "#868e96", "#c2255c")
STYLE = """
text { font: 12px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: #3e4c59; }
.title { font-size: 14px; font-weight: 600; fill: #1f2933; }
.page { fill: #ffffff; } .grid { stroke: #e4e7eb; } .end { text-anchor: end; } .middle { text-anchor: middle; }
@media (prefers-color-scheme: dark) {
text { fill: #c5ced8; } .title { fill: #f1f5f9; } .page { fill: #14191f; } .grid { stroke: #2b333c; }
}
"""

Series = Mapping[str, Sequence[tuple[float, float]]]  # by name: size and figure


def plot(title: str, unit: str, series: Series) -> str:
    """Returns the picture. Every size and every figure is greater than 0."""
    points = [point for line in series.values() for point in line]
    axes = _Axes([x for x, _ in points], [y for _, y in points])
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img" aria-label="{escape(title)}">',
        f"<style>{STYLE}</style>",
        f'<rect class="page" width="{WIDTH}" height="{HEIGHT}"/>',
        f'<text class="title" x="{LEFT}" y="24">{escape(title)}</text>',
        f'<text x="{LEFT}" y="42">{escape(unit)}</text>',
        *axes.grid(),
        *_lines(axes, series),
        "</svg>\n",
    ]
    return "\n".join(lines)


class _Axes:
    def __init__(self, xs: Sequence[float], ys: Sequence[float]) -> None:
        self._xs = floor(log10(min(xs))), ceil(log10(max(xs)))
        self._ys = floor(log10(min(ys))), ceil(log10(max(ys)))

    def x(self, value: float) -> float:
        low, high = self._xs
        return LEFT + (log10(value) - low) / ((high - low) or 1) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        low, high = self._ys
        return HEIGHT - BOTTOM - (log10(value) - low) / ((high - low) or 1) * (HEIGHT - TOP - BOTTOM)

    def grid(self) -> Iterator[str]:
        for power in range(self._ys[0], self._ys[1] + 1):
            y = self.y(10.0**power)
            yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            yield f'<text class="end" x="{LEFT - 8}" y="{y + 4:.1f}">{_number(power)}</text>'
        for power in range(self._xs[0], self._xs[1] + 1):
            x = self.x(10.0**power)
            yield f'<line class="grid" y1="{TOP}" y2="{HEIGHT - BOTTOM}" x1="{x:.1f}" x2="{x:.1f}"/>'
            yield f'<text class="middle" x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}">{_number(power)}</text>'


def _number(power: int) -> str:
    return f"{10**power:,}" if power >= 0 else f"{10.0**power:g}"


def _lines(axes: _Axes, series: Series) -> Iterator[str]:
    """Yields the lines, and their names at their ends, far enough from each other."""
    free = float(HEIGHT)
    by_end = sorted(enumerate(series.items()), key=lambda each: -axes.y(each[1][1][-1][1]))
    for number, (name, points) in by_end:
        colour = COLOURS[number % len(COLOURS)]
        places = [(axes.x(x), axes.y(y)) for x, y in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
        yield from (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places)
        free = min(free - APART, places[-1][1] + 4)
        yield f'<text x="{places[-1][0] + 10:.1f}" y="{free:.1f}" style="fill: {colour}">{escape(name)}</text>'
