"""The players' and participants' pages of AmbiEnt: entry, studies, the tasks' forms, result."""
