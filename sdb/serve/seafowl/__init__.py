"""Requests of clients of Seafowl.

===============  ================================================================
``multipart``    forms with a file, read as they come
``schemas``      schemas of Arrow as JSON, read as the columns of a CSV file
``names``        names of tables without a database, and paths with one
``lines``        rows as lines of JSON, and their types in a header
``queries``      queries by their SHA-256, and statements
``uploads``      files that become rows of a table
===============  ================================================================
"""
