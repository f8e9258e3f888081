"""Commands that fill and show tables."""
