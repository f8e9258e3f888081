"""The packfile: blocks of compressed rows, and a trailer that says where and when they are.

===========  =========================================================
``trailer``  the trailer and its indexes, statistics and provenance
``prune``    which blocks can hold a row for which a condition is TRUE
``read``     packfiles open for reading: blocks, rows, Arrow, fields
``build``    index and statistics of a packfile that is being made
``inputs``   inputs: recognised, opened, streamed
``export``   rows to JSON, CSV, Ion, Arrow and Parquet; ``grep``
``inspect``  descriptions, validation, field reports, selectivity
``write``    pack and append
``rewrite``  concat, merge, clustering, changed rows
===========  =========================================================

The rooms are listed from the bottom up; imports run upward in this list only (`lint-imports`).
"""
