"""Files as they are published, and ours: read row by row, with a fault for each row that is none."""
