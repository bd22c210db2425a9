"""How well the symbol graph knows who calls what."""
