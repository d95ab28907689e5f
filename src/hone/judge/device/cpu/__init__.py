"""Solutions beside their reference on CPU threads, in memory that both share with the judge."""
