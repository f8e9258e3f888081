"""The command line: reads arguments and the environment, calls one function, shows the result.

=================  ==================================================================
``main``           the entry point: quick answers, and every way out of the program
``app``            the commands, each imported only when it runs
``commands``       a folder for each group of commands, a file for each command
``failures``       exit codes, and errors as messages
``parameters``     descriptions of parameters, for typer and for `plain`
``settings``       settings that commands ask for
``settingfiles``   files of settings, and what they may have
``tablenames``     tables as commands name them, their packfiles, who is at work on them
``servers``        tables of a server, ``--root http://...``
``options``        options that several commands share
``values``         what their values mean, and texts of queries
``plain``          plain command lines, understood without typer
``compat``         command lines of the original `sdb`, of `head` and of `tail`
``complete``       completion in the shell
``topictexts``     topics of `sdb help`
``manual``         manual pages, from the texts of `--help`
``render``         what commands print
``output``         standard output and standard error
``meter``          progress on standard error
``indexkey``       the key of tables on S3: made once, and read
``interrupts``     Ctrl-C
``syncing``        what `sync` tells
``spark``          `spark pack`
``streaming``      `insert -`: a pipe that goes on
``feeding``        `follow`: what its words mean, and what it tells
``submitted``      the program that `spark-submit` gets
``shell``          `shell`: its conversation, line editor and completion
``optionrecords``  options that commands have together, as one parameter
``inputoptions``   how raw inputs are read, as one parameter of a command
=================  ==================================================================
"""
