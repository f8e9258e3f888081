"""The page: HTML frames that scripts fill by the requests of the service, with its reader's rights.

===========  =======================================================
``screens``  the HTML of each screen, of the log-in and of refusals
``static``   style sheets and scripts, from the package
``reference``  the reference of requests
``routes``   paths of these, log-in and log-out
===========  =======================================================
"""
