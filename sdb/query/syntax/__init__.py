"""Text of a query to its syntax tree, and back.

=============  ====================================================
module         holds
=============  ====================================================
`exprnodes`    the nodes of expressions
`ast`          the nodes of the tree, those of expressions too
`lexer`        text to tokens
`literals`     texts of constants, read and written
`cursor`       the place in the tokens, and errors about it
`operators`    how tightly operators bind, what comparisons turn into
`aliases`      words of other dialects
`othernames`   names that functions and types have elsewhere: the one table of them
`intervals`    spans of time that are added to times
`outputnames`  names of the columns of a query
`calls`        the parser of calls
`aggregatecalls`  the parser of aggregates and window functions
`jsonpaths`    paths into JSON, and what `->` means
`clauses`      clauses that are separate grammars: joins, windows, GROUP BY
`expressions`  the parser of expressions
`tableparser`  the parser of FROM
`parser`       the parser of queries
`writes`       the nodes of statements that change tables
`writeparser`  the parser of those
`versions`     versions of tables, and tables about tables
`printer`      trees to text, in the normal form of messages
`hints`        suggestions for errors
`visitor`      walks over trees, and new trees from old ones
=============  ====================================================
"""
