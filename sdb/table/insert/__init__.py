"""Rows that are added to a table directly.

===============  ============================================
``insert``       one insert, one commit
``groupcommit``  appends of many threads, which share commits
``stream``       a pipe that goes on: many commits, and each line in one of them
===============  ============================================
"""
