"""The players' and participants' pages of AmbiBench: entry, studies, trials, result."""
