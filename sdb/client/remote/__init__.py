"""Tables of a server: the same connection and tables as those of a folder, over HTTP.

=============  ===================================================
module         holds
=============  ===================================================
`transport`    requests, retried; connections that are kept open
`faults`       problems of a server as the errors of a folder
`answers`      answers as the records of a folder
`connection`   `sdb.connect("http://...")`
`table`        a table, or a version of it
`transacting`  statements that are sent together
=============  ===================================================
"""
