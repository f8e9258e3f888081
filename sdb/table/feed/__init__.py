"""Feeds: what comes in goes into tables until they are stopped.

A source gives batches. The rows of a batch are committed, and only then is it acknowledged, so that
a program that was killed loses nothing, and takes nothing twice.

=================  =================================================================
``events``         what feeds tell: versions, trouble, what became of files
``lines``          batches of lines, each in one commit
``pipe``           lines of a pipe
``logs``           lines of log files, committed together with the positions in them
``tables``         one table whose inputs are followed
``watch``          folders in which inputs may have appeared
``folders``        inputs that appear in folders
``notifications``  what a message of a queue says about objects
``messages``       messages of a queue that are processed together
``queue``          inputs that messages of a queue name
=================  =================================================================
"""
