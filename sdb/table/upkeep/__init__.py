"""Upkeep: tables that keep themselves small, and what each of them needs.

===============  ====================================================
``rules``        what may be done for a table, by its definition
``lock``         one program at a time works on a table, as a rule
``actions``      what is asked for, and what was done
``budget``       share of a processor, free space, and when to stop
``steps``        the steps of one round over a table
``maintain``     rounds over tables, once or for ever
``status``       what a table needs, and which command mends it
===============  ====================================================
"""
