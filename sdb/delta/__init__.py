"""Tables of Delta: their logs, read and written.

====================  =========================================================
``actions``           what commits and checkpoints say, as records
``deletionvectors``   positions of deleted rows
``columns``           columns of a table that is read
``versions``          the versions of a table that is read, with their files
``schema``            columns and statistics of files, as commits have them
``checkpoints``       checkpoints, by `deltalake`
``log``               the log of a mirror, continued by conditional puts
====================  =========================================================
"""
