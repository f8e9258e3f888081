"""The writers of the data source.

================  ====================================================
``partitioned``   rows of a task by the values of columns
``writer``        packfiles: tasks pack, and the job publishes
``tablewriter``   tables: tasks pack, and the job commits
``streamwriter``  batches of a stream, each written once by one of them
================  ====================================================
"""
