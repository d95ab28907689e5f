"""What `snakemake --report` shows: its first page, and tables, figures and trajectories as HTML pages."""
