"""The life cycle of an index: build, segments, snapshots, reuse, archives, watching."""
