"""The process of a server: its socket, its connections, and the application that is loaded later.

===============  ================================================================
``repeats``      answers to requests that come again byte for byte
``protocol``     connections, with bounds on what one may hold
``loading``      the application while it is loaded
``gate``         tokens, hosts and sizes, looked at in front of all routes
``credentials``  tokens as headers and cookies have them
``audit``        the file of changes that requests have made
``server``       sockets, signals, the end
===============  ================================================================
"""
