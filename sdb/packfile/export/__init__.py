"""Rows of packfiles, written elsewhere.

==============  ==================================================
``iontext``     rows as Ion text
``arrowfiles``  Arrow IPC streams and Parquet
``tail``        last rows of packfiles
``unpack``      packfiles to JSON, CSV, TSV, Ion, Arrow or Parquet
``grep``        rows in which a text matches
==============  ==================================================
"""
