"""Rows of a query in the forms that users ask for.

==========  ==============================================
module      holds
==========  ==============================================
`result`    the rows, and what was read for them
`lines`     rows as lines of JSON
`outputs`   rows as CSV, TSV, Markdown and Ion
`safecells`  CSV that no spreadsheet executes
`frames`    rows as Arrow data
`replay`    rows kept for a second look, and as Python values
`waiting`   Ctrl-C while an engine computes
`notebook`  rows as a table of HTML
`reading`   blocks that are read, and why
`wire`      rows on their way from a server
`advice`    what would have left out blocks
==========  ==============================================
"""
