"""Objects of S3 and of everything that speaks its protocol; see docs/s3.md.

===============  =======================================================================
``objectstore``  the store
``client``       connections, with the settings that AWS tools use
``requestlog``   log records of requests
``answers``      what no S3 answers, found out
``failures``     what the store says, as exceptions of `sdb`
``address``      URLs, keys and patterns
``objects``      ranged reads
``parts``        how objects are cut
``upload``       parts that go up in the background
``publish``      the one step in which an object appears, and finding out whether it did
``history``      marks by which a writer recognises its own work
``lock``         one writer at a time, where the store cannot choose
``orphans``      uploads that nobody will complete
``drafts``       new objects
``grow``         objects whose beginning the store copies
``prefix``       names below a prefix, removal, and replacing what was read
``probe``        whether conditions count
``doctor``       what the endpoint really does
``sqs``          queues
===============  =======================================================================
"""
