"""The API, one module for each view."""

from __future__ import annotations

from whence.ui.api import compare, context, graph, index, notes, search, source, why

#: The routers by view, in the order of the API's description.
ROUTERS = {view.__name__.rpartition(".")[2]: view.router for view in (search, source, why, compare, graph, context, notes, index)}
