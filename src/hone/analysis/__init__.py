"""What the tables share: pure metrics, views of a run's records, published numbers, and how figures are drawn."""
