"""Commands that keep tables small and sound."""
