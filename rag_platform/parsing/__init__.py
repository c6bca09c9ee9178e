"""Files to pages: one reader a format, chosen by content. No storage, no chunking, no Dagster."""
