"""The reader of the data source.

================  ================================================
``listing``       packfiles of a data source
``tablelisting``  packfiles of a table
``schema``        types of packfiles to a schema
``declared``      columns of frames, as they were written
``wide``          what is said of sources with many columns
``placement``     workers of blocks, by rendezvous hashing
``partitions``    blocks put together to partitions
``rowranges``     rows of packfiles that grow
``cache``         blocks on the disk of an executor
``scan``          blocks to Arrow batches, on an executor
``columnreader``  tables with a schema, by its columns
``computed``      views and queries
``divided``       queries that tasks run, each for a part
``planned``       what a query is going to read
``reader``        from times and packfiles to partitions
================  ================================================
"""
