import numpy as np

from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool

#: A dotted module is a weaker hint than a path: texts often name the caller.
MODULE = 0.5


@signal()
def named_path(pool: CandidatePool) -> Column:
    """1 if the query contains the file's path or the end of it (as a stack trace does), 0.5 for the dotted name of its module."""
    wanted_paths = [path.replace("\\", "/").lower() for path in pool.plan.paths]
    wanted_modules = [module.replace(".", "/").lower() for module in pool.plan.modules]
    values = np.zeros(len(pool.distinct_files))
    if wanted_paths or wanted_modules:
        for number, file in enumerate(pool.distinct_files.tolist()):
            path = "/" + pool.snapshot.path(file).lower()
            if any(
                path.endswith("/" + wanted.lstrip("./")) or (wanted.count("/") > 1 and wanted.endswith(path)) for wanted in wanted_paths
            ):
                values[number] = 1.0
            elif any(f"/{module}/" in path.rsplit(".", 1)[0] + "/" for module in wanted_modules):
                values[number] = MODULE
    found = pool.by_file(values)
    return Column(found, lambda row: "the query names this file" if found[row] else "not named in the query")
