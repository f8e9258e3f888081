"""The bytes of every object of a table, and the keys that objects have.

===============  ===========================================================================
``limits``       when lists spill and nodes split, and how many requests run at once
``keys``         names of databases, tables and branches; keys of objects below a root
``etags``        content identity of an object
``signature``    the signature behind an index, and the keys for it
``ionstruct``    typed members of Ion structs
``codec``        declarative codecs: members of stored structs, declared once
``descriptor``   what an index says of a packfile
``columns``      descriptors of a million packfiles, as columns
``manifests``    the indirect tree: lists of older descriptors
``inputtree``    which inputs a table has taken
``positions``    positions in log files, as entries of the inputs tree
``lakepositions``  versions of Delta and Iceberg tables, as entries of the inputs tree
``index``        the root object of a table
``history``      where the versions of a table are
``state``        the member ``sdb`` of an index's user data: version, parent, tags, branches
``view``         the object of a view, and of a claim on its name
``versionref``   references to versions, as people write them
===============  ===========================================================================
"""
