"""File names from text that are valid on every disk."""

from __future__ import annotations

import re
import zlib
from itertools import islice
from unicodedata import category, normalize

#: File systems allow 255 bytes for a name; the rest is for suffixes and numbers.
MAX_SLUG_BYTES = 200
#: The same for a name that a person chose, without the suffix `.md`.
MAX_NAME_BYTES = 252
#: A hyphen and a checksum.
_MARK_LENGTH = 9
_NAME = re.compile(r"[^./\\\0][^/\\\0]*")
#: Devices on Windows, whatever the suffix.
_RESERVED = re.compile(r"(?:con|prn|aux|nul|(?:com|lpt)[0-9¹²³])")
#: Characters of a text that are searched for its first words.
_LOOKED_AT = 4_000
_NOT_PROSE = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*|<!--.*?-->|!\[[^\]\n]*\]\([^)\n]*\)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[([^\]\n]+)\]\([^)\n]*\)")
_LIST_MARK = re.compile(r"^[ \t]*(?:[-*+>][ \t]+|\d{1,9}[.)][ \t]+|\[[ xX]\][ \t]+)+", re.MULTILINE)
_MARKS = "#*_`~>|[]()-=\"'"


def slugify(text: str, longest: int = 60) -> str:
    """Text as a file name: lower case, letters and digits of every script, everything else as single hyphens.

    A name that is cut short or has no letters gets a checksum.
    """
    lowered = normalize("NFC", normalize("NFC", text).lower())
    whole = "-".join("".join(map(_slug_character, lowered)).split())
    if not whole:
        return f"note-{checksum(' '.join(text.split()))}"
    longest = max(longest, 2 * _MARK_LENGTH)
    if len(whole) > longest or len(whole.encode()) > MAX_SLUG_BYTES:
        return f"{_cut(whole, longest - _MARK_LENGTH, MAX_SLUG_BYTES - _MARK_LENGTH)}-{checksum(whole)}"
    return f"note-{whole}" if _RESERVED.fullmatch(whole) else whole


def first_words(text: str, count: int = 8) -> str:
    """The first words of a text, headings included, without Markdown."""
    head = _NOT_PROSE.sub(" ", text.lstrip()[:_LOOKED_AT])
    head = _LIST_MARK.sub("", _LINK.sub(r"\1", head))
    words = (word.strip(_MARKS) for word in head.split())
    return " ".join(islice((word for word in words if any(map(str.isalnum, word))), count))


def project_folder(project: str) -> str:
    """The folder of a project; a name that loses more than its separators gets a checksum."""
    slug = slugify(project)
    whole = re.sub(r"[\s_.-]+", "-", normalize("NFC", project).lower()).strip("-")
    return slug if whole == slug else f"{slug}-{checksum(normalize_topic(project))}"


def topic_slugs(topic: str) -> tuple[str, str]:
    """The file name of a topic, and the one to use if a note of another topic has it."""
    return slugify(topic), f"{slugify(topic)}-{checksum(normalize_topic(topic))}"


def normalize_topic(topic: str) -> str:
    """A topic without differences of case and white space."""
    return " ".join(normalize("NFC", topic).casefold().split()).encode("utf-8", "replace").decode()


def is_valid_name(name: str) -> bool:
    """Whether a folder or a note can have a name: it is one path part, not hidden, and encodable."""
    if not _NAME.fullmatch(name):
        return False
    try:
        return len(name if name.isascii() else name.encode()) <= MAX_NAME_BYTES
    except UnicodeEncodeError:
        return False


def checksum(text: str) -> str:
    """Eight hexadecimal digits that differ for nearly every other text."""
    return f"{zlib.crc32(normalize('NFC', text).encode('utf-8', 'surrogatepass')):08x}"


def _slug_character(character: str) -> str:
    # The words of many scripts fall apart without their combining marks.
    return character if character.isalnum() or (character > "\x7f" and category(character)[0] == "M") else " "


def _cut(slug: str, longest: int, most_bytes: int) -> str:
    """The beginning of a slug, cut at a word if possible."""
    cut = slug[:longest].encode()[:most_bytes].decode("utf-8", "ignore")
    if slug[len(cut)] != "-" and "-" in cut:
        cut = cut.rpartition("-")[0]
    return cut.rstrip("-")
