"""What the page asks, one module for each view."""

from __future__ import annotations

from whence.serve.ui.api import compare, context, graph, index, notes, roots, search, source, why

#: All that can be asked, in the order in which the API is described.
ROUTERS = tuple(view.router for view in (roots, search, source, why, compare, graph, context, notes, index))
