"""sdb: packs event data into packfiles."""
