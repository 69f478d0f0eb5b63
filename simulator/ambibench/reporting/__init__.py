"""Numbers, tables and figures of AmbiBench, out of trials: a log's, or anybody's in the same form."""
