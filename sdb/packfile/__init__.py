"""The packfile: blocks of compressed rows, and a trailer that tells where and when they are.

================  ==================================================================
``trailer``       the end of a packfile: where blocks are, and what is known of them
``storedtrailer``  reads it from an open packfile
``trailergap``    large ones, without the statistics that nobody asks for
``latebytes``     which are read when somebody does
``extension``     what the trailer has beyond the original's
``digest``        digests of blocks
``presence``      in how many rows each field is
``provenance``    which inputs the rows came from
``blockstatistics``  what values are between and which there are, for each block
``storedstatistics``  the same as trailers have it
``blockfacts``    the same for blocks that are being made
``statisticschoice``  which of it is stored
``filterchoice``  which filters, with how many planes
``zoneshare``     blocks that zones leave to read
``statisticsasked``  which of it users want
``wordchoice``    their filters, as large as they may be
``words``         what texts hold, and which blocks have none of it
``addresses``     networks, and which blocks have no address of one
``statisticscheck``  whether it is so
``zones``         bounds of the values in blocks
``membership``    filters of the values in blocks
``slicedfilter``  the same as they are stored, and asked
``sparseindex``   time indexes and constants of all blocks
``timeindex``     blocks that can hold an instant, for one path
``predicate``     conditions as far as metadata can decide them
``blockrules``    what statistics of a block prove about a test
``manyvalues``    the same for tests of many values
``prune``         blocks that can hold a row for which a predicate is TRUE
``selection``     blocks and rows by number and by time
``blocks``        blocks of an open packfile, and their bytes
``reader``        packfiles that are open for reading
``htmlfacts``     facts of an open packfile, for notebooks
``manifest``      packfiles that count in folders that jobs fill
``resolve``       paths, patterns and folders to packfile references
``sniffing``      format and compression by first bytes and name
``inputs``        what can be packed: files, pipes, objects
``given``         inputs as programs give them: paths, open files, rows
``pieces``        bytes of inputs, piece by piece
``parquet``       rows of Parquet files
``batches``       rows of Arrow batches
``repeated``      inputs that a packfile has taken before
``spool``         pipes, kept so that they can be read again
``writer``        a new packfile out of inputs
``merge``         blocks and sparse index out of what the packer delivers
``joining``       packfiles that become one, where short blocks grow together
``clustercuts``   where rows part by their values
``clusteredinputs``  inputs of packfiles that are sorted
``clustering``    packfiles that become one that is sorted
``rewriting``     packfiles in which rows change, block by block
``rewrittentrailer``  the trailers of these
``appended``      result of appending
``append``        a packfile that grows by inputs
``continuation``  the packer and the trailer of a packfile that grows
``kept``          blocks and index that stay when a packfile grows
``concat``        packfiles joined without compressing again
``unpack``        rows as text, Ion, Arrow or Parquet
``countedfacts``  what statistics of small packfiles would tell, from their rows
``dataframes``    Arrow tables as data frames of polars and pandas
``ends``          last rows of packfiles
``backward``      last rows of a selection, block by block
``search``        searches: patterns, and where they are looked for
``grep``          rows in which a text matches
``compressed``    files that are compressed while they are written
``delimited``     columns of CSV and TSV
``arrow``         rows as Arrow tables and streams
``arrowfiles``    rows as Arrow IPC streams and Parquet files
``iontext``       rows as Ion text, for people
``absent``        warnings of fields that no row has
``inventory``     fields of packfiles, with types and numbers of rows
``descriptions``  facts of packfiles, as records with totals
``fieldstats``    what is in fields: distinct and frequent values, ranges, bytes
``fieldreport``   statistics of fields of packfiles, for JSON and for people
``largestfields`` fields that take most of a packfile, from a few chunks
``describe``      facts of packfiles, as text of `describe-file` and for JSON
``sharpness``     blocks that a search for one value would read, by path
``ondemand``      what queries name: packfiles, and other inputs by way of a cache
``validate``      a packfile read completely and checked
================  ==================================================================
"""
