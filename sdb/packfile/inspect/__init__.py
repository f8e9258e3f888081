"""Descriptions of packfiles, and their validation.

=================  ================================================
``records``        descriptions of packfiles, as records
``describe``       facts of trailers, as text and JSON
``fieldreport``    statistics of fields, for JSON and for people
``largestfields``  fields that take most of a packfile
``selectivity``    how many blocks an equality reads, by path
``validate``       every byte and every rule of the format, checked
=================  ================================================
"""
