"""Packfiles that are open for reading.

==============  ==================================================
``blocks``      blocks of an open packfile
``ahead``       blocks over a network, before a scan asks for them
``keptblocks``  blocks of a network that stay between queries
``resolve``     paths, URLs, patterns and folders to packfiles
``manifest``    folders that jobs with many writers fill
``arrow``       rows as Arrow tables and streams
``dataframes``  Arrow tables as pandas and Polars frames
``choices``     which rows methods read, for type checkers
``search``      patterns, and where they are looked for
``fields``      the fields of packfiles, from their trailers alone
``likelytimes``  fields that look as if they held times
``fieldorder``  fields in the order of the inputs
``fieldstats``  statistics of fields, from one pass over all rows
``tailscan``    last rows of a selection
``reader``      the public class ``Packfile``
==============  ==================================================
"""
