"""Pictures and tables, made from plain records; nothing here reads files or prints."""
