"""Options of the data source.

==============  ========================================================
``settings``    the options
``namedtable``  the table of a data source, as it was when it was loaded
==============  ========================================================
"""
