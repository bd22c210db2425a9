"""The figures of a benchmark as one page that needs nothing else: tables, and drawings beside them."""
