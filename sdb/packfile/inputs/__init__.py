"""Inputs: recognised by content, opened, streamed.

==============  ===============================================
``sniff``       format and compression, by first bytes and name
``streams``     bytes of inputs, piece by piece
``spool``       inputs that can be read only once, kept
``arrowrows``   Arrow record batches as Ion rows
``parquet``     Parquet files as input
``duplicates``  inputs that a packfile took before
``inputs``      files, pipes and standard input, opened
``arguments``   the ``inputs=`` argument of programs
==============  ===============================================
"""
