"""Where bytes lie: ranged reads and atomic writes, whatever the place.

===============  ================================================================
``base``         the protocols: store, reader, draft
``messages``     the protocol of queues
``url``          which store or queue a location is in, and the calls that most code needs
``aliasing``     names that stand for one object
``memory``       objects in memory, for simulations
``faults``       the script of a simulation: what goes wrong with a call
``objectstore_base``  cheap answers of stores without folders and files
``keypatterns``  patterns of keys, where there are no folders
``readerfile``   readers as files of Python
``schemes``      other spellings of ``s3://``
``pageheaders``  what the pages of Parquet become
``parquetpages`` rows of Parquet within bounds of memory
``local``        files
``s3``           objects of S3 and of what speaks its protocol
===============  ================================================================
"""
