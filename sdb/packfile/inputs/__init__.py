"""Inputs: recognised by content, opened, streamed.

==============  ===============================================
``unpacking``   compressions that the core does not read
``archives``    files in zip and tar
``sniff``       format and compression, by first bytes and name
``streams``     bytes of inputs, piece by piece
``heads``       beginnings of remote inputs, in bounded memory
``far``         inputs over a network, read while others are packed
``lines``       lines of a pipe that goes on, in batches
``spool``       inputs that can be read only once, kept
``arrowrows``   Arrow record batches as Ion rows
``rowvalues``   Python objects as values of rows
``frames``      tables of Arrow and data frames as input
``parquet``     Parquet files as input
``openlake``    tables of Delta and Iceberg, opened by their names
``lake``        data files of Delta and Iceberg tables as input
``duplicates``  inputs that a packfile took before
``folders``     fields that folders name, as ``day=2026-11-01``
``hintedtimes`` times in hints files
``rawreading``  how inputs are read where packfiles are meant as well
``inputs``      files, pipes and standard input, opened
``recognised``  inputs as they are named: patterns, folders, tables of other systems
``arguments``   the ``inputs=`` argument of programs
==============  ===============================================
"""
