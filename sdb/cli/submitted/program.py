"""The program that `spark-submit` gets: the command line of `sdb`.

It stands in a separate folder because Python looks for modules first where a program is.
"""

from sdb.cli.main import main

if __name__ == "__main__":
    main()
