"""Test reports in all formats: terminal, JSON, CSV, LaTeX, HTML."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from rich.console import Console

from simulator.errors import InputError
from simulator.figures import Bars, Column, Figure, Panel, Table
from simulator.figures.files import to_json
from simulator.reporting import Report, Section, print_report, write_report
from simulator.reporting.render import html_page, latex_table, report_json, report_latex
from simulator.stats import Interval

THIRD = 1 / 3
TABLE = Table(
    ["model", "items", Column("success", 3), Column("words", 1)],
    [
        ["<b>us</b> & you", 12, Interval(THIRD, 0.1, 2 / 3, 12), 4.25],
        ["[mini] 50%_x", 7, None, -0.25],
    ],
    "Means & <i>more</i>",
)
FIGURE = Figure(
    "success-by-model",
    "Success <by> model",
    [Panel("", "", "success", [Bars("ours", ["S"], [THIRD], [0.1], [0.6])])],
)
REPORT = Report(
    title="ours <script>alert(1)</script> & theirs",
    sections=[
        Section(name="means", title="Means {all}", tables=[TABLE], figures=[FIGURE], remarks=["n < 9 & low"]),
        Section(name="two", title="Two tables", tables=[Table(["a"], [[1]]), Table(["b"], [["x"]])]),
    ],
    warnings=["read <this> first"],
)


class Page(HTMLParser):
    """The tags and texts of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append(data.strip())


def test_json_keeps_every_digit_and_comes_back():
    plain = json.loads(json.dumps(report_json(REPORT), allow_nan=False))
    assert plain == report_json(REPORT)
    assert (plain["title"], plain["warnings"]) == (REPORT.title, [*REPORT.warnings])
    assert [section["name"] for section in plain["sections"]] == ["means", "two"]
    means = plain["sections"][0]
    assert (means["title"], means["remarks"]) == ("Means {all}", ["n < 9 & low"])
    row = means["tables"][0]["rows"][0]
    assert Interval(**row["success"]) == TABLE.rows[0][2]
    assert row["words"] == 4.25
    assert means["figures"] == [json.loads(to_json(FIGURE))]


def test_a_folder_holds_every_table_and_figure(tmp_path):
    written = write_report(REPORT, tmp_path / "out")
    assert {path.name for path in written} == {path.name for path in (tmp_path / "out").iterdir()} == {
        "report.json", "report.html",
        "means.csv", "means.tex", "two-1.csv", "two-1.tex", "two-2.csv", "two-2.tex",
        *(f"success-by-model.{suffix}" for suffix in ("png", "svg", "pdf", "csv")),
    }  # fmt: skip
    assert json.loads((tmp_path / "out" / "report.json").read_text("utf-8")) == report_json(REPORT)
    first, second = csv.DictReader(io.StringIO((tmp_path / "out" / "means.csv").read_text("utf-8")))
    assert [float(first[f"success{end}"]) for end in ("", "_low", "_high", "_n")] == [THIRD, 0.1, 2 / 3, 12]
    assert (first["model"], first["words"]) == ("<b>us</b> & you", "4.25")
    assert (second["success"], second["success_low"]) == ("", "")


def test_the_data_of_a_figure_do_not_replace_a_table_of_its_name(tmp_path):
    section = Section(name=FIGURE.name, title="Means", tables=[TABLE], figures=[FIGURE])
    written = write_report(Report(title="Means", sections=[section]), tmp_path, ("csv",))
    assert [path.name for path in written[2:]] == [
        *(f"{FIGURE.name}{end}" for end in (".csv", ".tex", "-figure.csv"))
    ]
    assert (tmp_path / f"{FIGURE.name}.csv").read_text("utf-8") == TABLE.to_csv()


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "out").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="out"):
        write_report(REPORT, tmp_path / "out")


def test_latex_has_caption_label_and_columns_of_siunitx():
    assert latex_table(TABLE, "means", TABLE.title).splitlines() == [
        r"\begin{table}",
        r"\centering",
        r"\caption{Means \& \textless{}i\textgreater{}more\textless{}/i\textgreater{}}",
        r"\label{tab:means}",
        r"\begin{tabular}{lS[table-format=3.3]S[table-format=3.3]S[table-format=3.3]}",
        r"\toprule",
        r"{model} & {items} & {success} & {words} \\",
        r"\midrule",
        r"\textless{}b\textgreater{}us\textless{}/b\textgreater{} \& you & "
        r"12 & {0.333 [0.100, 0.667]} & 4.3 \\",
        r"{}[mini] 50\%\_x & 7 & {--} & -0.3 \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    assert r"\caption{Two \{tables\}}" in latex_table(Table(["a"], [[1]]), "two", "Two {tables}")


def test_latex_is_balanced_and_no_cell_becomes_the_option_of_a_command():
    text = latex_table(TABLE, "means", "")
    bare = re.sub(r"\\[{}]", "", text)
    assert bare.count("{") == bare.count("}")
    assert re.findall(r"\\begin{(\w+)}", text) == ["table", "tabular"]
    assert re.findall(r"\\end{(\w+)}", text) == ["tabular", "table"]
    assert not re.search(r"(\\\\|rule)\s*\[", text)


def test_a_page_shows_texts_as_they_are_and_needs_no_other_file():
    page = Page(html_page(REPORT))
    tags = [tag for tag, _ in page.tags]
    assert not {"script", "b", "i", "link"} & set(tags)
    for text in (
        REPORT.title,
        "<b>us</b> & you",
        "Means & <i>more</i>",
        "n < 9 & low",
        "read <this> first",
    ):
        assert text in page.texts
    assert "0.333 [0.100, 0.667]" in page.texts
    assert tags.count("table") == 3
    (image,) = (attributes for tag, attributes in page.tags if tag == "img")
    assert image["alt"] == "Success <by> model"
    assert str(image["src"]).startswith("data:image/svg+xml")


def test_the_terminal_shows_tables_remarks_and_warnings():
    console = Console(width=120, file=io.StringIO())
    print_report(console, REPORT)
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    for text in (
        "read <this> first",
        "Means {all}",
        "[mini] 50%_x",
        "0.333 [0.100, 0.667]",
        "· n < 9 & low",
    ):
        assert text in shown


def test_a_table_with_its_sections_title_is_not_titled_again():
    tables = [replace(TABLE, title="Votes"), TABLE]
    report = Report(title="r", sections=[Section(name="votes", title="Votes", tables=tables)])
    console = Console(width=120, file=io.StringIO())
    print_report(console, report)
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert (shown.count("Votes"), shown.count(TABLE.title)) == (1, 1)
    assert Page(html_page(report)).texts.count("Votes") == 1
    (caption, _) = (line for line in report_latex(report).splitlines() if "caption" in line)
    assert "Votes" in caption


def test_latex_tells_tables_of_one_title_apart():
    sections = [Section(name=run, title=f"{run}: scores", tables=[TABLE]) for run in ("a", "b")]
    (first, second) = (
        line for line in report_latex(Report(title="r", sections=sections)).splitlines() if "caption" in line
    )
    assert first.startswith(r"\caption{a: scores. Means") and second.startswith(r"\caption{b: scores. Means")


def test_sections_have_names_of_files_of_their_own():
    with pytest.raises(ValueError, match="lower case"):
        Section(name="Two Words", title="")
    section = Section(name="one", title="")
    with pytest.raises(ValueError, match="the same name"):
        Report(title="", sections=[section, section])
