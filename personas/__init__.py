"""Who speaks and how: prompt templates as files, per role and language."""

from __future__ import annotations


class TemplateError(Exception):
    """A prompt template is missing, malformed or lacks a variable; the message names the file."""
