"""Solutions built and judged: as files, for the rules; one by one, by hand; and a verdict in words."""
