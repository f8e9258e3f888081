"""Commands about the program itself and where it runs."""
