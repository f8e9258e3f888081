"""Find tables and open them: roots, heads, versions, leases.

=================  ==================================================
``root``           the folder or bucket that has tables
``nearroots``      roots that may be meant where there are no tables
``config``         settings of a root: where it is, signing keys
``foreign``        whether another program wrote an index
``handle``         a table that is open for reading
``lookup``         versions by number, distance and time
``views``          views by name, and their versions
``storedqueries``  queries by name, which the service answers
``databases``      whose a database is, and what it has
``refs``           tags and branches as they are
``intents``        intents of transactions over several tables
``leases``         leases of long reads, which collectors respect
=================  ==================================================
"""
