"""Versions for people: log, diff, restore, tags, branches, merges, forks.

===============  ========================================================
``log``          what each version changed
``diff``         differences between two versions
``rowdiff``      rows that differ, those that were changed as one
``restore``      old content as a new version
``undo``         the content from before the last change
``branch``       the index that a branch begins with
``setrefs``      tags and branches, set and deleted
``lineage``      all versions that a version came from, merges included
``mergebase``    the newest common ancestor of two branches
``changes``      what each side of a merge changed
``rowtrace``     rows that are followed through versions
``rowvalues``    rows by their numbers, and what makes two the same
``rowmerge``     the rows of packfiles that both sides have rewritten
``overlaps``     parts of a merge that both sides have changed
``mergeresult``  what a merge adds to an index, and removes
``merge``        three-way merge of a branch
``transfer``     packfiles copied to another table or root
``holds``        branches that keep packfiles for other tables
``sharing``      packfiles that two tables refer to
``fork``         forks and pushes
``rename``       another name for a table, and the old one dropped
===============  ========================================================
"""
