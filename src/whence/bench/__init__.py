"""Is it true? Measurements that anyone can repeat, of quality and of speed (B1 to B7)."""
