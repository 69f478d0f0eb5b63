"""Numbers, tables and figures of AmbiBench, from the trials in logs and files."""
