"""Tables: sets of packfiles that change as a whole, and the inputs they were made of.

===============  =====================================================================
``format``       bytes of every object: keys, index, descriptors, inputs tree, history
``schema``       columns with ids over rows that need none: changes, merges, departures
``catalog``      find a root, open a table, look up a version
``commit``       the one way to change a table: compare-and-swap of its index
``inputs``       inputs that patterns find, and where they may be
``definition``   what a table takes: patterns, partitions, retention
``packfiles``    packfiles of a table: opened, packed, merged, rewritten
``history``      versions for people: log, diff, restore, tags, branches, merge, fork
``insert``       rows that are added directly
``sync``         inputs that patterns find, each taken once
``maintenance``  compaction, expiry, garbage collection, validation
``tail``         log files that grow and are rotated, and positions in them
``feed``         what comes in without an end: pipes, log files, folders, queues
``inspect``      descriptions, system tables, selectivity
``upkeep``       rounds of maintenance over tables, and what each of them needs
===============  =====================================================================

The rooms are listed from the bottom up; imports run upward in this list only (`lint-imports`).
"""
