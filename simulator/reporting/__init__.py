"""Reports: sections of tables, figures and remarks, rendered in several formats.

A `Report` consists of `Section`s; `render` turns it into terminal output, JSON, CSV, LaTeX or HTML.
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
    plain_values,
    renumber,
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
    "plain_values",
    "print_report",
    "renumber",
    "report_csv",
    "report_latex",
    "slug",
    "write_report",
]
