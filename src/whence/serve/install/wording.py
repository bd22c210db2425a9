"""What agents are told: when to ask whence instead of looking through files. Every word is paid for in each of their sessions."""

from __future__ import annotations

INSTRUCTIONS = """\
## Finding things: ask whence first

The `whence` MCP server has this repository indexed. Before you grep, glob, list or open files to *look for* something, \
call it: one call finds by meaning and by words, and costs a fraction of the tokens. Tell subagents the same.

- `context`: first call of a task (fix, feature, review): pass the task as you were given it, get the symbols it needs.
- `search`: where is X? Plain words, a name, an error message, "phrase", /regex/, path: lang: kind: -not.
- `graph`: callers, callees, impact, tests of a symbol: before you change, move or delete it.
- `related`: code like FILE:LINE.
- `recall` before you decide anything; `remember` what the code itself does not say; `feedback` what was useful.

Grep only for every occurrence of an exact string you already know. When whence says "not here", do not grep for \
synonyms. Without MCP, the same in a shell: `whence search "..."`.
"""
#: What is said once when a session begins, where there are hooks and an index.
REMINDER = "whence has this repository indexed: ask its tools (context, search, graph) before you grep or open files to look for something."
