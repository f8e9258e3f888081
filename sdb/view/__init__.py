"""Pictures and tables, made from plain records; nothing here reads files or prints.

=============  ====================================================
``facts``      tables of facts as text
``fieldlist``  fields of packfiles, nested
``tablelist``  tables, their packfiles and inputs
``sharpnesstable``  sharpness of paths
``versionlist``  versions of tables, and their differences
``statlist``   the same with what is in them
``grid``       rows of any shape as a table for terminals
``vertical``   the same, a line for each member
``rows``       rows laid out for reading
``axis``       round times along an axis
``timeline``   blocks in time, as text
``svg``        the same as a picture
``html``       a page about packfiles that needs nothing but itself
``style``      its looks, in light and dark
=============  ====================================================
"""
