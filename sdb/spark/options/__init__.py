"""Options of the data source.

==============  ========================================================
``settings``    the options
``names``       which there are: others are errors
``files``       which packfiles of folders and patterns count
``namedtable``  the table of a data source, as it was when it was loaded
==============  ========================================================
"""
