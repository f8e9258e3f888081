"""Pictures and tables, made from plain dataclasses; nothing here reads files or prints."""
