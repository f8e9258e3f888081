"""Tables: sets of packfiles that change as a whole, and the inputs that they were made of.

===================  =============================================================
``names``            names of databases, tables, branches; keys of objects
``ownobjects``       objects that a table may lead to
``etags``            which content an object has
``signature``        the signature of an index, and the keys for it
``structs``          members of structs that were read, each of the type it must have
``zstdframes``       compressed objects
``descriptor``       what an index says of a packfile
``descriptorlist``   the same of many packfiles, in columns
``indirect``         lists of older descriptors
``inputnodes``       nodes of the inputs tree, as they are stored
``inputstree``       which inputs were taken
``index``            the index: the root of a table
``encodedpackfiles`` lists of packfiles, encoded; those of earlier indexes only once
``knownindexes``     indexes that were read or written last
``jsonraw``          JSON with the text of each member
``calendarspan``     years, months and days
``inputpattern``     patterns of inputs, captures and templates
``inputplaces``      where inputs may be: below the root, and where it is allowed
``allowedinputs``    which places the one who runs a command allows
``compiledpattern``  the same patterns, for many paths
``partition``        directory and constants of a partition
``definition``       what a table takes
``contentid``        names of packfiles that tell their content
``versionhistory``   where the versions of a table are
``versionstate``     what an index says of the version that it is
``turns``            programs of one machine that let each other go first
``surroundings``     clock, patience, turns and dice of a writer
``intents``          what transactions over several tables are about to do
``objectwriter``     objects that are written once
``tablechange``      what a commit does to an index
``adoption``         packfiles of the original, which become ours
``foreign``          whether another program has written an index
``succession``       versions that follow each other
``overwritten``      what other programs have made of an index, and overwritten
``parentage``        versions that a version came from
``freshness``        packfiles that a commit adds, and collectors
``undecided``        transactions over several tables that are under way, or given up
``commit``           the one way in which a table changes
``jointcommit``      commits to several tables that become true together
``jointreading``     tables that are read together
``expiry``           versions that leave the history
``reachability``     objects that a table needs
``intentsweep``      transactions over several tables that are long over
``heldobjects``      what keeps objects that a collection leaves
``collectionresult`` what a collection came to
``collector``        objects that a table does not need
``forgetting``       versions that lose all places that keep them
``newinputs``        inputs that a sync takes, and what else it finds
``renamedinputs``    inputs that were taken under another name
``temporaryinputs``  names that files have while they are written
``tiers``            packfiles that are to be merged
``blocktimes``       blocks that a moment in time is in
``mergedpackfile``   packfiles that are made of others
``compaction``       small packfiles that become larger ones
``tablepacking``     rows to packfiles of a table
``grownpackfile``    packfiles that are made of others, stored
``tablerewrite``     packfiles of a table in which rows change
``tableinsert``      rows that come in by themselves
``groupcommit``      appends of many threads, which share commits
``tablecreate``      definitions that make tables
``inputlisting``     inputs that a pattern finds
``etagcache``        ETags of local inputs that were read before
``settledlisting``   listings in which there was nothing to do
``syncplan``         inputs that are listed, against those that are known
``retention``        packfiles that are too old
``inputwatch``       folders in which inputs may have appeared
``inputrows``        rows of inputs, and packfiles without them
``syncresult``       inputs that came in, failed, or are not what they were
``inputpacking``     inputs that become packfiles
``leftpackfiles``    packfiles of a sync that was killed
``tablesync``        inputs that come in, each one once
``followedtable``    a table of which inputs are taken for ever
``tablefollow``      syncs for ever
``notifications``    what messages say has appeared
``queuebatches``     messages of a queue that are worked on together
``tablequeue``       syncs for ever of what a queue names
``definitioncheck``  all that is wrong with a definition
``tableroot``        the folder or bucket with tables, and the keys for them
``tablehandle``      a table that is open for reading
``leases``           what somebody has been reading for long
``recentdefinitions`` definitions that inserts have read lately
``references``       how versions are named, and which index that is
``versionlookup``    versions by number, distance and time
``tablelog``         what each version has changed
``tablediff``        differences between two versions
``tablerestore``     old content as a new version
``branchstart``      the index that a branch begins with
``namedversions``    tags and branches as they are
``refswap``          an index with other names in the place of one
``tablerefs``        tags and branches, set and taken away
``ancestry``         all versions that a version came from
``mergebase``        the version that two branches have in common
``mergesides``       what each of two branches has changed since
``tablemerge``       the changes of a branch in another one
``systemrows``       rows that tell of tables
``transfer``         packfiles that another table shall have
``holds``            branches that keep packfiles for other tables
``sharing``          packfiles that two tables refer to
``tablefork``        forks and pushes
``tablepackfile``    packfiles of a table, opened when they are read
``knownfacts``       what queries have read of their statistics
``absentfields``     trailers that prove which fields no row has
``listedpackfile``   packfiles of lists, which are numbers at first
``tabledescription``  what an index says of its table and packfiles
``tablesharpness``   blocks that a search in a table would read
``inputstates``      inputs that were taken, have failed, changed or vanished
``tablevalidation``  all that is wrong with a table
``keptversions``     whether all that kept versions lead to is there
``rootconfig``       settings of a root, for people and shells
===================  =============================================================
"""
