"""From syntax trees to DuckDB's SQL over typed lanes."""
