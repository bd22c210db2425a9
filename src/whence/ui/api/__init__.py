"""What the page asks, one module for each view."""

from __future__ import annotations

from whence.ui.api import compare, context, graph, index, notes, roots, search, source, why

#: All that can be asked, by the view that asks it, in the order in which it is described.
ROUTERS = {view.__name__.rpartition(".")[2]: view.router for view in (roots, search, source, why, compare, graph, context, notes, index)}
