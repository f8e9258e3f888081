"""Upkeep: compaction, expiry, garbage collection, validation.

================  ===================================================
``sizetiers``     size-tiered compaction: which packfiles are merged
``compact``       small packfiles become larger ones
``expire``        versions leave the history
``listing``       objects of a table by key, and its branches
``held``          what keeps an object, and until when
``collected``     the result of a collection
``reachable``     objects that a table needs
``intents``       intents of finished transactions, collected
``gc``            unreachable objects are deleted
``leftovers``     what killed writers have left in a store
``forget``        versions that must lose every place that keeps them
``versionreads``  versions, read before they are asked for
``keptversions``  what kept versions lead to, checked
``validate``      every object and every row, checked
================  ===================================================
"""
