"""Descriptions of tables, and the system tables.

================  =======================================================
``describe``      descriptions of a table and its packfiles
``systemtables``  the SQL tables ``sdb.versions``, ``sdb.packfiles``, ...
``labels``        the description of a table and its steward
``selectivity``   how many blocks an equality reads, by path
``timeline``      when the rows of a table are, by bucket
================  =======================================================
"""
