"""Syncs: inputs that patterns find are taken, each one once.

=============  ======================================================
``unchanged``  listings in which there was nothing to do
``work``       what a sync is asked for, has to do, and has prepared
``renames``    inputs that were renamed after they were taken
``plan``       listed inputs compared with known ones
``status``     states of inputs: taken, failed, changed, vanished
``inputrows``  where rows of an input are, and packfiles without them
``changedinputs``  inputs that changed after they were taken
``oldrows``    rows of a packfile that are too old
``retention``  rows that are too old go
``retained``   the oldest row, and rows without a time
``orphans``    packfiles of a sync that was killed before its commit
``packing``    inputs to packfiles; unreadable ones are reported
``result``     the result of a sync
``lakes``        versions of Delta and Iceberg tables, one after the other
``sync``       one sync of one table
=============  ======================================================
"""
