"""Commands about versions, branches and copies of tables."""
