"""Where bytes lie: ranged reads and atomic writes, whatever the place.

===============  ================================================================
``base``         the protocols: store, reader, draft
``url``          which store a location is in, and the calls that most code needs
``apart``        names that stand for one object
``memory``       objects in memory, for simulations
``keypatterns``  patterns of keys, where there are no folders
``local``        files
``s3``           objects of S3 and of what speaks its protocol
===============  ================================================================
"""
