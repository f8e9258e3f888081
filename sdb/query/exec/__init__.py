"""Scans and DuckDB at work.

=================  ==================================================
module             holds
=================  ==================================================
`engine`           runs a statement
`execution`        a statement that runs: its lanes, and what ends it
`relations`        scans as relations of DuckDB, with what is known of their rows
`freememory`       the memory that a query may take when nothing is said
`native`           runs what a scan answers alone
`topk`             runs ORDER BY with LIMIT on a scan
`metadata_totals`  totals of all rows that metadata has
`metadata_groups`  counts of groups that metadata has
`knownrows`        rows that are known without a scan, as Arrow data
`described`        answers DESCRIBE and SUMMARIZE
`notes`            what users should know of an answer
`udfs`             functions that DuckDB lacks
`jsonkeys`         typed texts of JSON, for one of them
`schemakeys`       typed texts of values under a schema, for another
`exhausted`        what it means that memory ran out
=================  ==================================================
"""
