"""Charts: SVG drawn here, without a script or an inline style; colours come from the stylesheet.

Each is drawn twice, for a wide screen and for a phone, where letters of the wide one would be too small to read.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import accumulate

from markupsafe import Markup

TOP, RIGHT, BOTTOM = 10, 18, 24
# The room for a digit beside the lines.
DIGIT = 6.6
NO_MARKUP = Markup()


@dataclass(frozen=True)
class Canvas:
    """How large a drawing is, how many days are named below it, and whether there is a pointer to point with."""

    kind: str
    width: int
    height: int
    named: int
    pointer: bool


WIDE = Canvas("wide", 520, 210, named=7, pointer=True)
NARROW = Canvas("slim", 340, 210, named=4, pointer=False)


@dataclass(frozen=True)
class Chart:
    """The drawing, and the same numbers as rows of a table."""

    svg: Markup
    rows: Sequence[tuple[str, ...]]


@dataclass(frozen=True)
class Plot:
    """Where days and values are on a canvas."""

    canvas: Canvas
    days: int
    ticks: Sequence[int]
    left: float

    @property
    def step(self) -> float:
        """How wide a day is."""
        return (self.canvas.width - self.left - RIGHT) / max(self.days, 1)

    @property
    def floor(self) -> int:
        """Where the lowest line is."""
        return self.canvas.height - BOTTOM

    def x(self, index: int) -> float:
        """The middle of a day."""
        return self.left + self.step * (index + 0.5)

    def y(self, value: float) -> float:
        """The height of a value."""
        low, high = self.ticks[0], self.ticks[-1]
        return self.floor - (self.floor - TOP) * (value - low) / (high - low)


def ticks(low: int, high: int) -> list[int]:
    """Round numbers, 1, 2 or 5 and noughts apart, from at most `low` to at least `high`."""
    rough = max((high - low) / 6, 1)
    power = 1
    while power * 10 <= rough:
        power *= 10
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    first, last = low // step * step, -(-high // step) * step
    return list(range(first, max(last, first + step) + 1, step))


def area(points: Sequence[tuple[date, int]], *, label: str, language: str) -> Chart:
    """One number that goes up and down."""
    values = [value for _, value in points]
    low, high = min(values, default=0), max(values, default=0)
    # A small change of a large number would be a flat line.
    marks = ticks(low if low < high and low > high / 2 else 0, max(high, 4))
    rows = [(_day(day, language), _number(value, language)) for day, value in points]

    def body(plot: Plot) -> Markup:
        return _line(plot, values) + _hover(plot, [f"{day}: {text}" for day, text in rows], values)

    return Chart(_drawings(rows, marks, body, label=label, language=language), rows)


def bars(points: Sequence[tuple[date, Sequence[int]]], *, series: Sequence[str], label: str, language: str) -> Chart:
    """Several numbers a day, on top of each other."""
    marks = ticks(0, max((sum(values) for _, values in points), default=0) or 4)
    rows = [(_day(day, language), *(_number(value, language) for value in values)) for day, values in points]
    told = [f"{row[0]}: {', '.join(map(' '.join, zip(series, row[1:], strict=True)))}" for row in rows]

    def body(plot: Plot) -> Markup:
        return _columns(plot, [values for _, values in points]) + _hover(plot, told)

    return Chart(_drawings(rows, marks, body, label=label, language=language), rows)


def _drawings(
    rows: Sequence[tuple[str, ...]],
    marks: Sequence[int],
    body: Callable[[Plot], Markup],
    *,
    label: str,
    language: str,
) -> Markup:
    heights = [_number(mark, language) for mark in marks]
    left = 12 + DIGIT * max(map(len, heights))
    plots = [Plot(canvas, len(rows), marks, left) for canvas in (WIDE, NARROW)]
    return NO_MARKUP.join(
        Markup('<svg class="chart {}" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
            plot.canvas.kind,
            plot.canvas.width,
            plot.canvas.height,
            label,
            _frame(plot, heights, [row[0] for row in rows]) + body(plot),
        )
        for plot in plots
    )


def _frame(plot: Plot, heights: Sequence[str], days: Sequence[str]) -> Markup:
    """The lines with their numbers, and some of the days; today always."""
    line = Markup('<path class="gridline" d="M{} {}H{}"/><text x="{}" y="{}" text-anchor="end">{}</text>')
    lines = [
        line.format(_n(plot.left), _n(y), plot.canvas.width - RIGHT, _n(plot.left - 8), _n(y + 4), height)
        for height, y in zip(heights, map(plot.y, plot.ticks), strict=True)
    ]
    every = -(-len(days) // plot.canvas.named)
    name = Markup('<text x="{}" y="{}" text-anchor="middle">{}</text>')
    names = [
        name.format(_n(plot.x(index)), plot.canvas.height - 4, day)
        for index, day in enumerate(days)
        if (len(days) - 1 - index) % every == 0
    ]
    return NO_MARKUP.join(lines + names)


def _line(plot: Plot, values: Sequence[int]) -> Markup:
    if not values:
        return NO_MARKUP
    places = [f"{_n(plot.x(index))} {_n(plot.y(value))}" for index, value in enumerate(values)]
    if len(places) == 1:
        # One day alone is a line as wide as the day.
        places = [f"{_n(plot.left)} {_n(plot.y(values[0]))}", f"{plot.canvas.width - RIGHT} {_n(plot.y(values[0]))}"]
    path, begin, end = "L".join(places), places[0].split()[0], places[-1].split()[0]
    line = Markup('<path class="line" d="M{}"/>').format(path)
    if plot.ticks[0]:
        # An area that does not stand on zero would tell of twice as much where there is a tenth more.
        return line
    area = Markup('<path class="area" d="M{}L{} {}L{} {}Z"/>')
    return area.format(path, end, plot.floor, begin, plot.floor) + line


def _columns(plot: Plot, columns: Sequence[Sequence[int]]) -> Markup:
    """The pieces of all columns, those of one series in one path."""
    width = min(plot.step * 0.62, 34)
    drawn: dict[int, str] = {}
    for index, values in enumerate(columns):
        for series, (value, top) in enumerate(zip(values, accumulate(values), strict=True)):
            if value:
                # Even one among a million is to be seen.
                height = max(plot.y(top - value) - plot.y(top), 1)
                place = f"M{_n(plot.x(index) - width / 2)} {_n(plot.y(top - value) - height)}"
                drawn[series] = f"{drawn.get(series, '')}{place}h{_n(width)}v{_n(height)}h-{_n(width)}z"
    path = Markup('<path class="s{}" d="{}"/>')
    return NO_MARKUP.join(path.format(series, pieces) for series, pieces in sorted(drawn.items()))


def _hover(plot: Plot, told: Sequence[str], values: Sequence[int] = ()) -> Markup:
    """What is said of a day to whoever points at it, and a dot on its value."""
    if not plot.canvas.pointer:
        return NO_MARKUP
    place = Markup('<g><title>{}</title><path class="hit" d="M{} {}h{}V{}h-{}z"/>{}</g>')
    dot = Markup('<circle class="dot" cx="{}" cy="{}" r="4"/>')
    dots = [dot.format(_n(plot.x(index)), _n(plot.y(value))) for index, value in enumerate(values)]
    step = _n(plot.step)
    return NO_MARKUP.join(
        place.format(text, _n(plot.x(index) - plot.step / 2), TOP, step, plot.floor, step, dots[index] if dots else "")
        for index, text in enumerate(told)
    )


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _number(value: int, language: str) -> str:
    from babel.numbers import format_decimal

    return str(format_decimal(value, locale=language))


def _day(day: date, language: str) -> str:
    from babel.dates import format_date

    return str(format_date(day, "d MMM", locale=language))
