"""The estimator contract: validation, errors, threads, progress, and the held-out protocol."""
