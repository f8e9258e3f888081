"""Tables over HTTP: what is known of them, waiting for changes, and changing them.

===============  ==================================================================
``parameters``   members of requests, in their URLs and bodies
``opening``      tables that requests name: who may see them, which version is meant
``conditions``   conditions and fields that requests name
``paging``       links to the rest of a list
``catalog``      tables, versions, fields, inputs
``layout``       packfiles and blocks: plans and times from metadata
``histograms``   rows by time and by value
``watching``     waiting for other versions
``following``    changes of tables
``tailing``      rows as they come
``refs``         tags, branches, merges
``views``        views and their versions
``replays``      requests that are sent again
``definitions``  definitions, descriptions, schemas
``databases``    databases, and whose they are
``copies``       forks, and pushes to other roots
``upkeep``       compaction and upkeep at once, for admins
``searching``    search over names, fields and descriptions
``staging``      transactions that last for several requests
``writes``       rows and statements that change tables
===============  ==================================================================
"""
