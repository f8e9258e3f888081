"""Text of a query to its syntax tree, and back.

=============  =============================================
module         holds
=============  =============================================
`ast`          the nodes of the tree
`lexer`        text to tokens
`literals`     texts of constants, read and written
`cursor`       the place in the tokens, and errors about it
`precedence`   how tightly operators bind
`familiar`     words of other dialects
`intervals`    spans of time that are added to times
`places`       keys that are numbers of items, or ALL
`calls`        the parser of calls and aggregates
`expressions`  the parser of expressions
`parser`       the parser of queries
`statements`   text cut at semicolons
`writes`       the nodes of statements that change tables
`writeparser`  the parser of those
`versions`     versions of tables, and tables about tables
`printer`      trees to text, in the normal form of messages
`hints`        suggestions for errors
`visitor`      walks over trees, and new trees from old ones
=============  =============================================
"""
