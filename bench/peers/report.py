"""Medians with intervals, in tables of Markdown."""

import statistics


def with_interval(figures, places=0):
    """The median, and half the difference of the largest and the smallest in percent of it."""
    median = statistics.median(figures)
    return f"{median:,.{places}f} ±{50 * (max(figures) - min(figures)) / median:.0f}"


def ratio(ours, theirs):
    """How many times as fast ours is, by turns: the median, the smallest and the largest."""
    ratios = [a / b for a, b in zip(ours, theirs)]
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def table(lines):
    """The first line has the titles of columns; the first column is aligned to the left."""
    widths = [max(map(len, column)) for column in zip(*lines)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    justified = [[line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]
                 for line in (lines[0], rule, *lines[1:])]
    return "\n".join("| " + " | ".join(line) + " |" for line in justified)
