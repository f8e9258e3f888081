"""Files of the local file system.

===============  ==============================================================
``disk``         the store
``files``        ranged reads, and errors of the operating system as those of `sdb`
``atomic``       files that appear when they are complete, or not at all
``growing``      files that begin with the bytes of another one, and locks
``globbing``     patterns of files
``cachefolder``  files that can be made again, bounded and shared
``folderqueue``  a folder as a queue
``scratch``      temporary folders that do not outlive the program
===============  ==============================================================
"""
