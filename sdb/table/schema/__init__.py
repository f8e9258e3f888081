"""Schemas of tables: columns with ids, over rows that need none.

==============  ==============================================================================
``types``       types of columns, and their texts
``columns``     columns and the schema of a table; JSON of both, and what is wrong with it
``stored``      schemas as versions keep them
``eras``        which columns the rows of older packfiles have
``names``       columns by their names, nested ones too
``evolve``      changes of a schema, one by one: add, drop, rename, widen, move, comment
``adopt``       a schema as a user has written it, in the place of another
``merge``       three-way merge of the schemas of branches
``difference``  differences between the schemas of two versions
``versions``    schemas of versions: merged, restored, compared
``fieldmarks``  what a schema says of the fields of stored rows
``arrowtypes``  types of columns for Arrow
``fitting``     columns of Arrow in these types; what does not fit is null
``conform``     what readers get of a row, and how a row departs from the schema
==============  ==============================================================================

Columns are told apart by their ids. A column lies at a path of the stored rows, so that a new name
changes no row.
"""
