"""SQL over packfiles: the dialect, what of a file it needs, and the engine that answers."""
