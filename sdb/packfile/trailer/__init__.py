"""The trailer: the end of a packfile, which says where everything is.

================  ==============================================================
``timeindex``     the time index of one path
``fieldcounts``   in how many rows each path has a value
``provenance``    which inputs the rows came from
``identities``    which rows of other packfiles the rows were
``declared``      columns of frames, as the extension keeps them
``extension``     the member ``sdb`` of a sparse index, which other readers skip
``zonemap``       zone maps: bounds of the values of a path in each block
``ribbon``        ribbon filters: the set of values of a path in each block
``ribbonslices``  ribbon filters in slices by hash, read two at a time
``statsection``   statistics as a trailer stores them, decoded on demand
``blockstats``    statistics of blocks: zone maps and filters together
``sparseindex``   the sparse index: time indexes, constants, extension
``trailer``       the trailer itself
``lazybytes``     bytes of an object, read on demand
``read``          the trailer of an open packfile
================  ==============================================================
"""
