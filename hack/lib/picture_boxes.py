"""Boxes and arrows as an SVG, from lines of text (docs/pictures/overview.txt says how they are written)."""

from html import escape

COLOURS = {"person": ("#fff4d6", "#c9971c"), "api": ("#e3efff", "#3a76c4"), "main": ("#dff5e3", "#2f8f46"),
           "world": ("#f1f1f4", "#7d8190"), "store": ("#f3e8ff", "#8350b8")}
SIDES = {"left": (0, None), "right": (1, None), "top": (None, 0), "bottom": (None, 1)}
LETTER = 6.1  # the width of a letter below a title, for where a line is broken
HEAD = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" role="img" aria-label="{2}">
<style>text{{font:12px system-ui,'Segoe UI',Helvetica,Arial,sans-serif;text-anchor:middle;fill:#3b4252}}.t{{font-size:15px;font-weight:600;fill:#1f2430}}</style>
<defs><marker id="a" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z" fill="#5b6272"/></marker></defs>
<rect width="{0}" height="{1}" rx="8" fill="#fff"/>"""


def wrap(text, width):
    lines = [""]
    for word in text.split():
        if lines[-1] and (len(lines[-1]) + 1 + len(word)) * LETTER > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def draw_box(x, y, width, height, kind, title, below):
    fill, edge = COLOURS[kind]
    lines, middle = wrap(below, width - 16), x + width / 2
    top = y + height / 2 - 8 * len(lines) + 5
    yield f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="7" fill="{fill}" stroke="{edge}" stroke-width="1.5"/>'
    yield f'<text class="t" x="{middle:g}" y="{top:g}">{escape(title)}</text>'
    for i, line in enumerate(lines):
        yield f'<text x="{middle:g}" y="{top + 16 * (i + 1):g}">{escape(line)}</text>'


def point(box, side, part):
    x, y, width, height = box
    across, down = SIDES[side]
    return x + width * (part if across is None else across), y + height * (part if down is None else down)


def draw_arrow(start, end, text):
    (x1, y1), (x2, y2) = start, end
    yield f'<path d="M{x1:g} {y1:g}L{x2:g} {y2:g}" stroke="#5b6272" stroke-width="1.4" fill="none" marker-end="url(#a)"/>'
    lines = text.split(" | ") if text else []
    for i, line in enumerate(lines, start=1):
        yield (f'<text x="{(x1 + x2) / 2:g}" y="{(y1 + y2) / 2 - 7 - 15 * (len(lines) - i):g}" stroke="#fff" stroke-width="4" '
               f'paint-order="stroke">{escape(line)}</text>')


def draw_boxes(source):
    boxes, drawn, label, width, height = {}, [], "", 0, 0
    for line in source.splitlines():
        word, _, rest = line.partition(" ")
        if word == "#" and not label:
            label = rest.partition(".")[0]
        elif word == "size":
            width, height = rest.split()
        elif word == "box":
            name, x, y, w, h, kind, text = rest.split(None, 6)
            boxes[name] = [int(one) for one in (x, y, w, h)]
            title, _, below = text.partition(" | ")
            drawn += draw_box(*boxes[name], kind, title, below)
        elif word == "arrow":
            one, side, part, other, its, its_part, *text = rest.split(None, 6)
            drawn += draw_arrow(point(boxes[one], side, float(part)), point(boxes[other], its, float(its_part)), " ".join(text))
    return "\n".join([HEAD.format(width, height, escape(label)), *drawn, "</svg>", ""])
