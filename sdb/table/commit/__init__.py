"""Commits: compare-and-swap of a table's index, with retries and recovery.

===============  =========================================================================
``environment``  clocks, sleep, randomness, local queue; simulations inject their own
``localqueue``   an advisory lock between programs of one machine
``objects``      objects that are written once
``change``       what a commit does to the index it finds
``adoption``     packfiles of the original, copied before a version refers to them
``chain``        the chain of versions, and how it grows
``parents``      the versions that a version came from
``gcbarrier``    new packfiles against a running collection
``recovery``     replay of versions that another program overwrote
``putback``      indexes that were put back: the newest version goes on
``coordinator``  two-phase commit, the coordinator's side; detection of stale transactions
``naming``       names that tables and views share: claimed before a table is made
``views``        changes of views
``commit``       one commit: read, plan, write the version, swap, retry
``twophase``     two-phase commit over several tables
``schemas``      a schema that is set, in a separate version
``refswap``      swaps of an index that change only its tags and branches
===============  =========================================================================
"""
