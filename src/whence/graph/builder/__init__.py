"""From references and imports to edges."""
