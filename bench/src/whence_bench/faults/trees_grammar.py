"""A grammar that crashes or never ends, made of a real one: its lexer is replaced by one that falls over two characters."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from importlib import resources
from pathlib import Path

import semble_grammars
from semble_grammars.loader import get_language

#: Of this language no file can be trusted afterwards; any would do that has a grammar.
LANGUAGE, ENDING = "lua", ".lua"
CRASHES, LOOPS = "\u2620", "\u221e"
#: Where `lex_fn` is in the table of a language: nine counts of four bytes, one of two, and thirteen pointers before it.
_LEXER_AT = 144
_SOURCE = r"""
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
typedef struct { int32_t lookahead; } Lexer;
typedef bool (*Lex)(Lexer *, uint16_t);
static Lex real;
static char table[320];
static bool lex(Lexer *lexer, uint16_t state) {
  if (lexer->lookahead == 0x2620) abort();
  if (lexer->lookahead == 0x221e) for (volatile int i = 0;; i++) {}
  return real(lexer, state);
}
const void *SYMBOL(void) {
  const char *found = ((const char *(*)(void))dlsym(dlopen(REAL, RTLD_NOW), "SYMBOL_NAME"))();
  memcpy(table, found, sizeof table);
  memcpy(&real, table + LEXER_AT, sizeof real);
  Lex ours = lex;
  memcpy(table + LEXER_AT, &ours, sizeof ours);
  return table;
}
"""


def plant_bad_grammar(place: Path) -> dict[str, str]:
    """Put the bad grammar where grammars are unpacked to; the environment in which it is found. Empty where there is no C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None or os.uname().sysname != "Linux":
        return {}
    get_language(LANGUAGE)  # unpacks the real one
    bundled = next((resources.files(semble_grammars) / "grammars").joinpath(name) for name in _platforms())
    manifest = json.loads((bundled / "manifest.json").read_text())
    entry = manifest["languages"][LANGUAGE]
    from semble_grammars.cache import cache_dir  # noqa: PLC0415  -- where the real one is now

    real = cache_dir() / manifest["platform"] / entry["file"]
    target = place / manifest["platform"] / entry["file"]
    target.parent.mkdir(parents=True)
    source = target.with_suffix(".c")
    text = _SOURCE.replace("SYMBOL_NAME", entry["symbol"]).replace("SYMBOL", entry["symbol"])
    source.write_text(text.replace("REAL", json.dumps(str(real))).replace("LEXER_AT", str(_LEXER_AT)))
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(target), str(source), "-ldl"], check=True, capture_output=True)
    return {"SEMBLE_GRAMMARS_CACHE_DIR": str(place)}


def _platforms() -> list[str]:
    folder = resources.files(semble_grammars) / "grammars"
    return [one.name for one in folder.iterdir() if (one / "manifest.json").is_file()]
