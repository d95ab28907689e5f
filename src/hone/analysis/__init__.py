"""From verdicts to tables and figures: pure metrics, tables as CSV files, figures drawn from those alone."""
