"""Structured streaming.

=================  ===================================
``offset``         how far a stream has read
``versionchain``   what came in between two versions
``versionstream``  streams of a table, by its versions
``stream``         streams of packfiles
=================  ===================================
"""
