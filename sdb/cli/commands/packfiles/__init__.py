"""Commands that read and write packfiles."""
