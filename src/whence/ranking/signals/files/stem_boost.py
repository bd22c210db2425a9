import numpy as np

from whence.parse.paths import stem_parts
from whence.ranking.ledger import Column, Phase, signal
from whence.ranking.pool import CandidatePool

SHORTEST_PREFIX = 3


@signal(Phase.STEM, relative=True)
def stem_boost(pool: CandidatePool) -> Column:
    """Boost, as a share of the best score, if the file's name contains a word of the query.

    Plural and joined forms count as equal; a prefix counts half.
    """
    asked = {form for part in pool.plan.parts for form in _forms(part.text)} | {form for word in pool.plan.joined for form in _forms(word)}
    spoken = [part.text for part in pool.plan.parts if len(part.text) >= SHORTEST_PREFIX]
    names = [stem_parts(pool.snapshot.path(file)) for file in pool.distinct_files.tolist()]
    values = pool.by_file(np.array([_boost(name, asked, spoken, pool.profile.stem_prefix) for name in names]))
    return Column(values, lambda row: _in_words(float(values[row])))


def _in_words(value: float) -> str:
    if not value:
        return "no word of the query in the file's name"
    return "a word of the query is in the file's name" if value == 1 else "a prefix of a word is in the file's name"


def _boost(name: list[str], asked: set[str], spoken: list[str], prefix: float) -> float:
    if any(form in asked for part in [*name, "".join(name)] for form in _forms(part)):
        return 1.0
    near = any(part.startswith(word) or word.startswith(part) for part in name if len(part) >= SHORTEST_PREFIX for word in spoken)
    return prefix if near else 0.0


def _forms(word: str) -> set[str]:
    """A word and its singular: `dependencies` ~ `dependency`."""
    forms = {word}
    if word.endswith("ies") and len(word) > 4:
        forms.add(word[:-3] + "y")
    elif word.endswith("s") and len(word) > 3:
        forms.add(word[:-1])
    return forms
