"""The SQLite log: schema and migrations, the one writer, readers, export, replay."""
