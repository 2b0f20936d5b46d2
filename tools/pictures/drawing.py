"""Draws points and lines as SVG, without a library, so that the same figures always become the same bytes."""

import math
from xml.sax.saxutils import escape

from .document import Missing

WIDTH, HEIGHT = 640, 420
# What is around the plot. Above it are the title and what the axis of y is.
TOP, BOTTOM = 84, 66
# Letters of 20 units are 12 pixels high in a picture that is 400 pixels wide.
STYLE = """
text { font: 20px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
.title { font-size: 23px; font-weight: 600 }
.paper { fill: #ffffff }
.grid { stroke: #d1d9e0; stroke-width: 1 }
.line { fill: none; stroke-width: 3.5; stroke-linejoin: round }
.dashed { stroke-dasharray: 7 6; stroke-width: 2.5 }
"""
# Colours that people with any kind of colour blindness can tell apart (Okabe and Ito), darker or lighter where text in
# them would be hard to read. Markers differ in their shape, too.
LIGHT = ("#0068a3", "#b84a00", "#00775a", "#a03c78", "#59636e")
DARK = ("#56b4e9", "#f0a030", "#2dc79c", "#e59ac8", "#9198a1")
ON_DARK = """
text { fill: #f0f6fc }
.paper { fill: #0d1117 }
.grid { stroke: #3d444d }
"""
# The series that have no measured points, such as a limit, are grey.
GREY = 4


class Axis:
    """A scale from one number to another, with ticks: pairs of a number and its label."""

    def __init__(self, title, low, high, ticks, is_log=False):
        self.title, self.ticks = title, ticks
        self.scale = math.log if is_log else float
        self.low, self.high = self.scale(low), self.scale(high)

    def share(self, value):
        share = (self.scale(value) - self.low) / (self.high - self.low)
        if not 0 <= share <= 1:
            raise Missing(f"the axis of `{self.title}` does not reach {value}")
        return share


class Picture:
    """A plot, to which lines, points and labels are added. Series have numbers, which give them colours and shapes."""

    def __init__(self, title, description, x, y, left=66, right=30):
        self.title, self.description, self.x, self.y = title, description, x, y
        self.left, self.right = left, right
        self.parts = []

    def at(self, x, y):
        """The position of a point of the plot."""
        width, height = WIDTH - self.left - self.right, HEIGHT - TOP - BOTTOM
        return self.left + width * self.x.share(x), TOP + height * (1 - self.y.share(y))

    def line(self, series, points, is_dashed=False):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (self.at(*point) for point in points))
        kind = "line dashed" if is_dashed else "line"
        self.parts.append(f'<polyline class="{kind} stroke{series}" points="{path}"/>')

    def points(self, series, points):
        for point in points:
            self.parts.append(marker(series, *self.at(*point)))

    def label(self, series, point, text, dx=14, dy=7, anchor="start"):
        """Writes beside a point of the plot, in the colour of the series."""
        x, y = self.at(*point)
        self.parts.append(words(x + dx, y + dy, text, anchor, f"fill{series}"))

    def svg(self):
        return "\n".join((
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
            ' role="img" aria-labelledby="title description">',
            f'<title id="title">{escape(self.title)}</title>',
            f'<desc id="description">{escape(self.description)}</desc>',
            f"<style>{style()}</style>",
            f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}" rx="8"/>',
            words(20, 34, self.title, kind="title"),
            words(20, 62, self.y.title),
            *self.grid(),
            *self.parts,
            "</svg>\n",
        ))

    def grid(self):
        bottom = HEIGHT - BOTTOM
        for value, text in self.x.ticks:
            x = self.left + (WIDTH - self.left - self.right) * self.x.share(value)
            yield f'<line class="grid" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{bottom}"/>'
            yield words(x, bottom + 24, text, "middle")
        for value, text in self.y.ticks:
            y = TOP + (bottom - TOP) * (1 - self.y.share(value))
            yield f'<line class="grid" x1="{self.left}" y1="{y:.1f}" x2="{WIDTH - self.right}" y2="{y:.1f}"/>'
            yield words(self.left - 10, y + 7, text, "end")
        yield words((self.left + WIDTH - self.right) / 2, HEIGHT - 14, self.x.title, "middle")


def words(x, y, text, anchor="start", kind=""):
    attributes = f' text-anchor="{anchor}"' if anchor != "start" else ""
    attributes += f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{attributes}>{escape(text)}</text>'


def marker(series, x, y):
    kind = f'class="fill{series}"'
    if series == 0:
        return f'<circle {kind} cx="{x:.1f}" cy="{y:.1f}" r="7"/>'
    if series == 1:
        return f'<rect {kind} x="{x - 6:.1f}" y="{y - 6:.1f}" width="12" height="12"/>'
    corners = ((0, -8), (8, 6), (-8, 6)) if series == 2 else ((0, -9), (9, 0), (0, 9), (-9, 0))
    return f'<polygon {kind} points="{" ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)}"/>'


def style():
    return f"{STYLE}{colours(LIGHT)}@media (prefers-color-scheme: dark) {{{ON_DARK}{colours(DARK)}}}\n"


def colours(palette):
    return "".join(f".stroke{series} {{ stroke: {colour} }}\n.fill{series} {{ fill: {colour} }}\n"
                   for series, colour in enumerate(palette))
