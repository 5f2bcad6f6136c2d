"""One file per rival: how it is asked to do the same work, with the same data, in the same number of threads."""
