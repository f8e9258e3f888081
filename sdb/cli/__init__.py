"""The command line: reads arguments and the environment, calls one function, shows the result.

=================  ==================================================================
``main``           the entry point: quick answers, and every way out of the program
``app``            the commands, each imported only when it runs
``commands``       a file for each command
``parameters``     descriptions of parameters, for typer and for `plain`
``tablenames``     tables as commands name them, and who is at work on them
``options``        options that several commands share, and the forms of their values
``plain``          plain command lines, understood without typer
``compat``         command lines of the original `sdb`, of `head` and of `tail`
``complete``       completion in the shell
``manual``         manual pages, from the texts of `--help`
``render``         what commands print
``compressed``     files that are compressed while they are written
``output``         standard output and standard error
``meter``          progress on standard error
``following``      how far a query is, for `meter`
``interrupts``     Ctrl-C
``syncing``        what `sync` tells, and `sync --follow`
``spark``          `spark pack`
``submitted``      the program that `spark-submit` gets
``conversation``   `shell`: queries and commands, one after the other
``prompt``         its line editor
``statementtext``  text of queries and statements, from anywhere
``suggestions``    its completion
=================  ==================================================================
"""
