"""Options of the data source.

==============  ========================================================
``settings``    the options
``names``       which there are: other names are errors
``catalog``     options of tables of Spark's own catalog
``files``       which packfiles of folders and patterns count
``namedtable``  the table of a data source, as it was when it was loaded
==============  ========================================================
"""
