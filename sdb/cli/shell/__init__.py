"""The shell: a line editor around queries and commands.

================  =================================================
``conversation``  queries and commands, one after the other
``prompt``        its line editor
``suggestions``   its completion
================  =================================================
"""
