"""Definitions: which inputs a table takes, in which partitions, and for how long.

==============  ==============================================
``rawjson``     JSON with the original text of each member
``timespan``    spans of years, months and days
``upkeep``      what `sdb maintain` does
``partition``   directory and constants of a partition
``definition``  the definition itself
``cache``       definitions that were read lately
``validate``    every flaw of a definition, reported at once
``create``      definitions that make tables
``alter``       definitions that change
==============  ==============================================
"""
