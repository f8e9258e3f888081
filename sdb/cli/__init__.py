"""The command line: reads arguments and the environment, calls one function, shows the result.

=================  ===========================================================
"""
