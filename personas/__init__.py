"""Prompt templates as files, per role and language."""

from __future__ import annotations


class TemplateError(Exception):
    """A missing or malformed prompt template, or a missing variable; the message names the file."""
