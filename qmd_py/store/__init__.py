"""The index on disk: schema, migrations, reads, writes; the only SQL."""
