"""The sample project has tests of its own; they are data here."""

collect_ignore = ["project"]
