"""The HTML report of a run, on one page."""

from physplan.report.page import write_report

__all__ = ["write_report"]
