"""The players' and participants' pages of AmbiK: entry, studies, robot, user, annotator, result."""
