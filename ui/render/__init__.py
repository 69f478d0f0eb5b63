"""From data to HTML: pure functions over the templates in ``ui/templates``, everything escaped."""

from ui.render.environment import render

__all__ = ["render"]
