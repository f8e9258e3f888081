"""A query, asked: what it means, and its answer.

==============  ==================================================================
`joinkeys`      keys of small sides of joins, for large ones
`prepare`       what a query means, before it is run, explained or tagged
`api`           `sdb.sql`
`storedquery`   parameters of stored queries
==============  ==================================================================
"""
