"""The writers of the data source.

===============  ============================================
``writer``       packfiles: tasks pack, and the job publishes
``tablewriter``  tables: tasks pack, and the job commits
===============  ============================================
"""
