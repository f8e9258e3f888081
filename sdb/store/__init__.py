"""Where bytes lie: ranged reads and atomic writes, whatever the place."""
