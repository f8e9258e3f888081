"""Rows that are added to a table directly.

===============  ============================================
``insert``       one insert, one commit
``groupcommit``  appends of many threads, which share commits
``staging``      transactions that last for several requests
===============  ============================================
"""
