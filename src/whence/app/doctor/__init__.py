"""Health checks: installation, storage, index, and measured search quality."""
