"""Output of commands, as text.

==============  =======================================================
``rows``        rows of ``head`` and ``tail``
``grep``        rows of ``grep``
``query``       answers of ``query``
``pack``        summaries of ``pack`` and ``append``, malformed records
``mirrored``    mirrors of tables, once or while they are followed
``merge``       merges, and what is in conflict
``exec``        what ``exec`` has done
``sharpness``   sharpness of paths, for ``--stats``
``collected``   what ``gc`` has deleted, and what keeps the rest
``purged``      what ``purge`` has erased
``tables``      tables: with rows, without any, and dropped
``schemas``     schemas, their differences, and rows that depart
``fitting``     inputs that the patterns of a new table find
``compressed``  files that are compressed while they are written
``csvsafety``   CSV made safe for spreadsheets: where it was asked for, or is usual
==============  =======================================================
"""
