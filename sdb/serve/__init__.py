"""The service: the tables below a root over HTTP.

The server keeps no state: what it answers is below the root, and several of them may serve one.
Everything here imports :mod:`starlette` and :mod:`uvicorn`, which the extra ``serve`` brings; the
rest of the package imports nothing of this.

::

    request
      |  access        tokens, rights               who asks, and which tables they may see
      |  admission     slots                        2 queries run, 16 wait for 10 s
      v
    query
      |  tags          ETag of the plan             304 before a row is read
      |  answers       thread -> pipe -> client     first 256 KiB held back: errors have a status
      v
    response

===============  ================================================================
``settings``     values of the options of the command
``problems``     errors as problem details
``access``       rights of tokens
``tokens``       the file of tokens
``admission``    how many queries compute, and how many wait
``running``      queries that run: their threads, their time, and clients that go
``pipe``         bytes on their way to a client that may be slow
``streams``      large answers in pieces, cut where something fails
``wholefiles``   answers that are made whole, with lengths and ranges
``bodies``       bodies of requests, of a bounded size
``hiding``       things that answers do not tell
``rootcheck``    looks whether the root is there
``log``          lines of the log of the server
``forms``        formats of answers
``conditional``  If-None-Match and If-Match
``described``    descriptions of requests, and the checks that follow from them
``operations``   all operations: methods, paths, members, answers
``routes``       routes of operations
``openapi``      the OpenAPI document of operations
``queries``      requests for queries
``stored``       stored queries by their names
``seafowl``      requests of clients of Seafowl: a separate folder
``tags``         tags of their answers, from their plans
``metrics``      what Prometheus reads
``answers``      answers as they are made
``tables``       tables, versions, changes: a separate folder
``app``          gate in front of all routes, and what is shared
``page``         the page for browsers
``process``      the process: a separate folder
===============  ================================================================
"""
