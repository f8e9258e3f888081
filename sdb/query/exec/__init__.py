"""Scans and DuckDB at work.

=================  ==================================================
module             holds
=================  ==================================================
`engine`           runs a statement
`engines`          engines of DuckDB that wait for the next query
`execution`        a statement that runs: its lanes, and what ends it
`columncache`      memory for columns that stay decoded between queries
`freememory`       the memory that a query may take when nothing is said
`native`           runs what a scan answers alone
`metadata_totals`  totals of all rows that metadata has
`countedtimes`     rows by time that metadata counts
`described`        answers DESCRIBE and SUMMARIZE
`notes`            what users should know of an answer
`udfs`             functions that DuckDB lacks
`jsonkeys`         typed texts of JSON, for one of them
`schemakeys`       typed texts of values under a schema, for another
`exhausted`        what it means that memory ran out
=================  ==================================================
"""
