"""Example figures of every kind."""

from __future__ import annotations

import pytest

from simulator.figures import Bars, Figure, Level, Line, Panel, Stacked

X = range(1, 7)


def lines(title: str, lift: float = 0.0) -> Panel:
    people = [0.5 + lift + 0.05 * x for x in X]
    return Panel(
        title,
        "example",
        "accuracy",
        [
            Line("people", X, people, [y - 0.04 for y in people], [y + 0.03 for y in people], n=[20] * 6),
            Line("oracle", X, [0.5, 0.75, 0.875, 0.9, 0.95, 1], style="dashed", colour="ink", n=720),
            Level(0.5, "chance"),
        ],
    )


@pytest.fixture(scope="session")
def curves() -> Figure:
    return Figure("curves", "Accuracy by example", [lines("")], "Shaded: 95 % intervals.")


@pytest.fixture(scope="session")
def multiples() -> Figure:
    return Figure("multiples", "By fold", [lines(f"fold {lift}", lift) for lift in (0.0, 0.05, 0.1)])


@pytest.fixture(scope="session")
def grouped() -> Figure:
    return Figure(
        "grouped",
        "Accuracy by feature",
        [
            Panel(
                "informative",
                "feature",
                "accuracy",
                [
                    Bars("people", ["subject", "location"], [0.8, 0.7], [0.75, 0.6], [0.9, 0.75], 60),
                    Bars("davinci", ["location", "negation"], [0.55, 0.5], colour="#123456"),
                    Level(0.5, "chance"),
                ],
            )
        ],
    )


@pytest.fixture(scope="session")
def stacked() -> Figure:
    names = ["English", "Arabic"]
    parts = [
        Stacked("same", names, [0.5, 0.25], 40),
        Stacked("other", names, [0.3, 0.7], 40),
        Stacked("invalid", names, [0.2, 0.05], 40),
    ]
    panels = [Panel(f"{when} the name", "origin", "share", parts) for when in ("before", "after")]
    return Figure("stacked", "Regions", panels)


@pytest.fixture(scope="session")
def lying() -> Figure:
    names = [f"{number}. Electrical engineering" for number in range(1, 9)]
    bars = Bars("people", names, [0.5] * 8, [0.4] * 8, [0.7] * 8, 20)
    return Figure("lying", "By task", [Panel("", "task", "success", [bars, Level(0.25, "chance")])])


@pytest.fixture(scope="session")
def stacks_that_lie(lying: Figure) -> Figure:
    names = lying.panels[0].marks[0].categories
    parts = [Stacked(name, names, [0.5] * 8) for name in ("right", "wrong")]
    return Figure("below", "By task", [Panel(title, "task", "share", parts) for title in ("seen", "unseen")])


@pytest.fixture(scope="session")
def column(multiples: Figure) -> Figure:
    return Figure("column", "By fold", multiples.panels, columns=1)


@pytest.fixture(
    scope="session", params=["curves", "multiples", "column", "grouped", "stacked", "stacks_that_lie"]
)
def figure(request: pytest.FixtureRequest) -> Figure:
    made: Figure = request.getfixturevalue(request.param)
    return made
