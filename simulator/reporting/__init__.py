"""Reports: sections of tables, figures and remarks, written once and rendered for every reader.

A report is made of `Section`; `render` shows it in a terminal, as JSON, CSV, LaTeX or HTML.
"""

from simulator.reporting.render import (
    DRAWN_AS,
    SUFFIXES,
    json_text,
    print_report,
    report_csv,
    report_latex,
    write_report,
)
from simulator.reporting.section import (
    Drawing,
    Problems,
    Report,
    RunEndings,
    Section,
    file_section,
    numbered,
    plain,
    slug,
)

__all__ = [
    "DRAWN_AS",
    "SUFFIXES",
    "Drawing",
    "Problems",
    "Report",
    "RunEndings",
    "Section",
    "file_section",
    "json_text",
    "numbered",
    "plain",
    "print_report",
    "report_csv",
    "report_latex",
    "slug",
    "write_report",
]
