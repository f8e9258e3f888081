"""Packfiles and Spark: packing in bulk, and the data source ``zion``."""
