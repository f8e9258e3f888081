"""Packfiles made of packfiles: joined, merged, sorted, changed.

==============  ======================================================
``trailer``     trailers of copied and new blocks together
``concat``      packfiles joined, nothing compressed again
``merge``       packfiles joined in order, short blocks grown together
``rewrite``     packfiles in which some rows change
``cuts``        where sorted rows are cut
``cluster``     packfiles sorted by values
==============  ======================================================
"""
