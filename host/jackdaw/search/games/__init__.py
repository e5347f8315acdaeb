"""Games that are searched: of our own, and those of other packages."""
