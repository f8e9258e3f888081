"""Packing, syncing and compacting on Spark.

==============  =====================================
``plan``        tasks: inputs, or pieces of them
``attempt``     an attempt of a task, on an executor
``rowpacking``  rows of a task, packed as options say
``pack``        packing on Spark
``sync``        syncs on Spark
``compact``     compactions on Spark
==============  =====================================
"""
