"""Text, pictures and pages, made from plain records; nothing here reads files or prints.

==================  ==================================================
``facts``           facts of packfiles as text
``fieldlist``       fields of packfiles, nested
``statlist``        fields with statistics of their values
``sharpnesstable``  share of blocks that an equality reads, by path
``tablelist``       tables, their packfiles and inputs
``viewlist``        views with their queries
``versionlist``     versions of tables, and their differences
``schemachanges``   differences between schemas
``grid``            rows of any shape as a table for terminals
``vertical``        rows of any shape, a line for each member
``rows``            rows laid out for reading
``axis``            round times along an axis
``timeline``        times of blocks as text
``svg``             times of blocks as a picture
``document``        HTML documents, and texts in them
``html``            a page about packfiles, in one file
``style``           its style sheet, in light and dark
==================  ==================================================
"""
