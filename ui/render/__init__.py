"""From data to HTML: pure functions over the templates in ``ui/templates``, everything escaped."""
