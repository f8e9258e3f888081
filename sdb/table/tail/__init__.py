"""Log files that grow and are rotated: found again, and read on behind a position.

============  =================================================================
``names``     which files arguments mean, and names of rotated ones
``logtext``   bytes of log files, and whole lines behind a position
``folders``   what is in folders of logs at one moment
``followed``  files that are followed, and what tells which of them a file is
``rotations`` rotated files beside logs, and which of them are new
``lines``     lines of them as inputs of a packfile
``stored``    positions that versions of the table have
``lookout``   finds files that are new, renamed, truncated, copied, compressed
============  =================================================================
"""
