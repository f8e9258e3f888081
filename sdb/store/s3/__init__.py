"""Objects of S3 and of everything that speaks its protocol; see docs/s3.md.

=============  ==================================================================
``client``     connections, with the settings that AWS tools use
``errors``     what the store says, as exceptions of `sdb`
``place``      URLs, keys and patterns
``reader``     ranged reads
``upload``     parts that go up in the background
``publish``    the one step in which an object appears, and finding out whether it did
``writer``     new objects
``grow``       objects whose beginning the store copies
``probe``      what the endpoint really does
=============  ==================================================================
"""
