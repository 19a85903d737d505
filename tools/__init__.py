"""Programs for people who work on Slicebase; none of them ships with the package."""
