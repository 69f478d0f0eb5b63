"""Who speaks and how: prompt templates as files, per role and language."""
