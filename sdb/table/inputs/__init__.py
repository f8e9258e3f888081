"""Inputs that patterns find, and where they may be.

================  ===============================================
``pattern``       patterns of inputs, captures and templates
``patternregex``  patterns as regular expressions, for many paths
``places``        places of inputs: below the root, or allowed
``etagcache``     ETags of local inputs that were read before
``tempnames``     names that files have while they are written
``lakes``         tables of Delta and Iceberg that patterns name
``listing``       the inputs that a pattern finds
``fitting``       the inputs that a pattern finds now, counted
================  ===============================================
"""
