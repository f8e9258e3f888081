"""Index and statistics of a packfile that is being made.

=================  ====================================================
``newstats``       zone maps and value sets, joined as their blocks are
``options``        the statistics that users ask for
``choose``         which statistics are stored
``verify``         stored statistics against the rows
``indexbuilder``   parts of the packer to blocks and their sparse index
``retained``       blocks and index that stay when a packfile grows
=================  ====================================================
"""
