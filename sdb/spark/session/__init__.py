"""Spark sessions, and what runs in them.

===============  =======================================================
``environment``  the environment of executors, in one file
``session``      sessions, with Java and with this Python in the workers
``job``          jobs that pack
``views``        all tables below a root as views
``hinted``       errors with their hints
``hangup``       workers whose rows are not wanted any more
===============  =======================================================
"""
