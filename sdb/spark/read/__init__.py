"""The reader of the data source.

================  ================================================
``listing``       packfiles of a data source
``tablelisting``  packfiles of a table
``schema``        types of packfiles to a schema
``filters``       filters that Spark pushes, reduced to predicates
``placement``     workers of blocks, by rendezvous hashing
``partitions``    blocks put together to partitions
``rowranges``     rows of packfiles that grow
``cache``         blocks on the disk of an executor
``scan``          blocks to Arrow batches, on an executor
``columnreader``  tables with a schema, by its columns
``viewreader``    views, whose rows the driver computes
``planned``       what a query is going to read
``reader``        from filters and packfiles to partitions
================  ================================================
"""
