"""``python -m sdb`` is the command line."""

from sdb.cli.main import main

if __name__ == "__main__":
    main()
