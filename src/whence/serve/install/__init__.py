"""How agents come to know whence: entries in their configuration, instructions, hooks; written in place, taken out without a trace (A3)."""
