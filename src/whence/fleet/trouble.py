"""What went wrong with the engine, in one line that says what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from whence.errors import FleetError
from whence.knobs import FleetSettings

#: The numbers that Milvus gives its refusals, which its own clients know by heart.
_RATE_LIMIT = 8
_NO_COLLECTION = (100, 4)
_SLOW = ("timeout", "timed out", "deadline")
_SECURE = ("ssl", "tls", "certificate", "handshake", "tsi_", "hostname verification", "peer name")
_REFUSED = ("auth check failure", "permission deny", "permission denied", "privilege", "unauthenticated", "credential")
_FULL = ("quota", "disk", "no space", "memory limit", "resource exhausted", "out of memory", "insufficient")
_MISSING = ("collection not found", "can't find collection")
_OTHER = ("not implemented", "unimplemented", "unsupported", "not supported", "field not found", "fieldnotexist", "schema")
#: What the network's library means, in fewer words.
_PLAINLY = {
    "WRONG_VERSION_NUMBER": "it does not speak TLS there",
    "CERTIFICATE_VERIFY_FAILED": "its certificate is signed by nobody we know",
    "Hostname Verification Check failed": "its certificate is for another name",
    "Socket closed": "it hung up, as servers do that speak TLS",
    "Connection refused": "nothing listens there",
    "Domain name not found": "there is no such host",
}
#: Letters of the engine's own words that a line repeats.
_MOST = 160


@dataclass(frozen=True, slots=True)
class Failed:
    """What is known of a failure: the network's status, the engine's number, and all words that came with it."""

    status: str
    number: int
    words: str
    nearest: str

    def says(self, *words: str) -> bool:
        """Whether any of these stands in what came with it."""
        return any(word in self.words for word in words)


#: What failed, the line for it and what to do, the first that fits. A line begins with where the engine is.
_LINES: tuple[tuple[Callable[[Failed], bool], str, str], ...] = (
    (
        lambda it: it.status in ("UNAVAILABLE", "UNAUTHENTICATED") and it.says(*_SECURE),  # the latter: of a name that is another's
        "and we do not agree on TLS: {nearest}",
        "see fleet.address (http or https) and fleet.ca",
    ),
    (
        lambda it: it.status in ("UNAUTHENTICATED", "PERMISSION_DENIED") or it.says(*_REFUSED),
        "refuses the token",
        "set fleet.token to one that it knows and that may do this",
    ),
    (lambda it: it.status == "UNAVAILABLE", "cannot be reached: {nearest}", "is it running, and is fleet.address right?"),
    (
        lambda it: it.status == "DEADLINE_EXCEEDED" or it.says(*_SLOW),
        "did not answer within {seconds:g} s",
        "is it running, and is it busy? fleet.timeout gives it longer",
    ),
    (lambda it: it.number == _RATE_LIMIT or it.says("rate limit"), "takes no more requests for now", "wait, or raise its limits"),
    (
        lambda it: it.status == "RESOURCE_EXHAUSTED" or it.says(*_FULL),
        "is full: {nearest}",
        "make room there, or whence fleet remove what nobody needs",
    ),
    (
        lambda it: it.status == "UNIMPLEMENTED",
        "does not know what was asked: another version of Milvus, or none",
        "Milvus 2.5 or later is needed",
    ),
    (
        lambda it: it.number in _NO_COLLECTION or it.says(*_MISSING),
        "holds no fleet named {prefix}",
        "whence fleet add begins one; fleet.prefix names it",
    ),
    (lambda it: it.says(*_OTHER), "cannot do what was asked: {nearest}", "another version of Milvus? 2.5 or later is needed"),
    (lambda _: True, "failed: {nearest}", ""),
)


def told(error: BaseException, settings: FleetSettings) -> FleetError:
    """The line for an exception of the engine's package."""
    if isinstance(error, FleetError):
        return error
    failed = Failed(_status(error), _number(error), " ".join(_words(error)).lower(), _nearest(error))
    line, hint = next((line, hint) for fits, line, hint in _LINES if fits(failed))
    nearest = failed.nearest.replace(settings.token, "(token)") if settings.token else failed.nearest
    said = line.format(nearest=nearest, seconds=settings.timeout, prefix=settings.prefix)
    return FleetError(f"the engine of the fleet at {settings.address} {said}", hint=hint)


def rate_limited(error: BaseException) -> bool:
    """Whether the engine only asks for patience."""
    return any(_number(one) == _RATE_LIMIT or "rate limit" in " ".join(_words(one)).lower() for one in _chain(error))


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An exception and what it came from."""
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = one.__cause__ or one.__context__


def _status(error: BaseException) -> str:
    """The name of the status that the network's library gave, if it was that which failed."""
    for one in _chain(error):
        code = getattr(one, "code", None)
        code = code() if callable(code) else code
        if (name := getattr(code, "name", "")) and name != "UNEXPECTED_ERROR":
            return str(name)
    return ""


def _number(error: BaseException) -> int:
    code = getattr(error, "code", None)
    return code if isinstance(code, int) else -1


def _words(error: BaseException) -> Iterator[str]:
    for one in _chain(error):
        details = getattr(one, "details", None)
        yield str(details() if callable(details) else getattr(one, "message", "") or one)


def _nearest(error: BaseException) -> str:
    """The engine's own words nearest to the cause, on one line and not without end."""
    last = " ".join("".join(letter if letter.isprintable() else " " for letter in list(_words(error))[-1]).split())
    cause = next((plainly for said, plainly in _PLAINLY.items() if said in last), last)
    return cause if len(cause) <= _MOST else f"{cause[:_MOST]}..."
