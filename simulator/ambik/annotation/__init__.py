"""New pairs by people (spec 11): the form, its rules, agreement, the third person's desk, the export."""
