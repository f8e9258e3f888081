"""The packfile: blocks of compressed rows, and a trailer that tells where and when they are."""
