"""The table of languages: which files speak which, and what kind of content that is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath

CODE, DOCS, CONFIG = "code", "docs", "config"


@dataclass(frozen=True, slots=True)
class Language:
    """One language: its name, its files and, where there is one, its grammar."""

    name: str
    extensions: tuple[str, ...]
    content: str = CODE
    grammar: str = ""  # empty: no grammar, the file is cut into windows of lines
    queries: str = ""  # the query file, where it differs from the name
    filenames: tuple[str, ...] = ()
    interpreters: tuple[str, ...] = ()
    noise: tuple[bytes, ...] = ()  # patterns of text that its grammar trips over, blanked before parsing
    unbearable: bytes = b""  # a pattern of text that crashes its grammar
    plain_names: bool = False  # a dot or colon in a name is part of it, not a sign of an owner

    @property
    def query_file(self) -> str:
        """The name of its file in `queries/`."""
        return f"{self.queries or self.name}.scm"


#: Macros in capitals: alone on a line, or between `class` and the name. They stand for nothing a parser can see.
#: A pattern begins with plain text, which makes looking for it cheap; its group is what is blanked.
MACROS = (
    rb"\n[ \t]*([A-Z][A-Z0-9_]{3,})(?=[ \t]*\n)",
    rb"class ([A-Z][A-Z0-9_]{3,})(?=\s+[A-Za-z_])",
    rb"struct ([A-Z][A-Z0-9_]{3,})(?=\s+[A-Za-z_])",
)

#: Marks of quotes and lists, one inside the other on one line: 256 of them take the grammar of Markdown down.
DEEP_MARKS = rb"(?:(?:>|[-*+][ \t]|[0-9]{1,9}[.)][ \t])[ \t]*){100}"

LANGUAGES: tuple[Language, ...] = (
    Language("bash", (".sh", ".bash", ".zsh", ".ksh", ".bats"), grammar="bash", filenames=(".bashrc", ".profile", ".zshrc"), interpreters=("sh", "bash", "zsh", "ksh", "dash"), plain_names=True),
    Language("c", (".c",), grammar="c"),
    Language("cpp", (".cc", ".cpp", ".cxx", ".hpp", ".hh", ".hxx", ".ipp", ".inl", ".h++", ".c++", ".cu", ".cuh", ".inc", ".h"), grammar="cpp", noise=MACROS),
    Language("csharp", (".cs", ".csx"), grammar="csharp"),
    Language("dart", (".dart",), grammar="dart"),
    Language("elixir", (".ex", ".exs"), grammar="elixir", interpreters=("elixir",)),
    Language("go", (".go",), grammar="go"),
    Language("haskell", (".hs", ".lhs"), grammar="haskell"),
    Language("html", (".html", ".htm", ".xhtml"), grammar="html"),
    Language("java", (".java",), grammar="java"),
    Language("javascript", (".js", ".mjs", ".cjs", ".jsx"), grammar="javascript", interpreters=("node", "nodejs")),
    Language("julia", (".jl",), grammar="julia", interpreters=("julia",)),
    Language("kotlin", (".kt", ".kts"), grammar="kotlin"),
    Language("lua", (".lua",), grammar="lua", interpreters=("lua", "luajit")),
    Language("ocaml", (".ml",), grammar="ocaml"),
    Language("perl", (".pl", ".pm", ".t"), grammar="perl", interpreters=("perl",)),
    Language("php", (".php", ".phtml"), grammar="php", interpreters=("php",)),
    Language("python", (".py", ".pyi", ".pyw"), grammar="python", filenames=("SConstruct", "SConscript"), interpreters=("python", "python2", "python3")),
    Language("r", (".r",), grammar="r", interpreters=("Rscript",), plain_names=True),
    Language("ruby", (".rb", ".rake", ".gemspec", ".ru", ".podspec"), grammar="ruby", filenames=("Rakefile", "Gemfile", "Guardfile", "Vagrantfile", "Podfile"), interpreters=("ruby",)),
    Language("rust", (".rs",), grammar="rust"),
    Language("scala", (".scala", ".sc", ".sbt"), grammar="scala"),
    Language("sql", (".sql",), grammar="sql"),
    Language("svelte", (".svelte",), grammar="svelte"),
    Language("swift", (".swift",), grammar="swift"),
    Language("tsx", (".tsx",), grammar="tsx", queries="typescript"),
    Language("typescript", (".ts", ".mts", ".cts"), grammar="typescript"),
    Language("vue", (".vue",), grammar="vue"),
    Language("zig", (".zig",), grammar="zig"),
    Language("markdown", (".md", ".mdx", ".markdown", ".mkd"), DOCS, grammar="markdown", unbearable=DEEP_MARKS),
    # No query of our own: cut into windows of lines, searched like everything else.
    Language("ada", (".adb", ".ads")),
    Language("assembly", (".s", ".asm")),
    Language("clojure", (".clj", ".cljs", ".cljc", ".edn")),
    Language("cmake", (".cmake",), filenames=("CMakeLists.txt",)),
    Language("css", (".css", ".scss", ".sass", ".less")),
    Language("d", (".d",)),
    Language("dockerfile", (".dockerfile",), filenames=("Dockerfile", "Containerfile")),
    Language("erlang", (".erl", ".hrl")),
    Language("fortran", (".f", ".f90", ".f95", ".f03", ".for")),
    Language("fsharp", (".fs", ".fsi", ".fsx")),
    Language("graphql", (".graphql", ".gql")),
    Language("groovy", (".groovy", ".gradle"), filenames=("Jenkinsfile",)),
    Language("hcl", (".tf", ".hcl", ".tfvars")),
    Language("lisp", (".lisp", ".lsp", ".cl", ".el", ".scm", ".ss", ".rkt")),
    Language("make", (".mk", ".mak"), filenames=("Makefile", "makefile", "GNUmakefile", "justfile")),
    Language("matlab", (".m", ".mm")),
    Language("nim", (".nim",)),
    Language("nix", (".nix",)),
    Language("ocaml-interface", (".mli",)),
    Language("pascal", (".pas", ".pp", ".dpr")),
    Language("powershell", (".ps1", ".psm1", ".psd1")),
    Language("proto", (".proto", ".thrift", ".capnp", ".avdl")),
    Language("solidity", (".sol",)),
    Language("starlark", (".bzl", ".star"), filenames=("BUILD", "BUILD.bazel", "WORKSPACE")),
    Language("tcl", (".tcl",), interpreters=("tclsh", "wish")),
    Language("template", (".erb", ".tt", ".jinja", ".jinja2", ".j2", ".hbs", ".mustache", ".ejs", ".heex", ".eex", ".leex", ".haml", ".slim", ".pug", ".twig", ".liquid", ".tmpl", ".tpl", ".cshtml", ".razor", ".astro")),
    Language("vala", (".vala", ".vapi")),
    Language("verilog", (".v", ".sv", ".svh", ".vhd", ".vhdl")),
    Language("vim", (".vim",), filenames=(".vimrc",)),
    Language("awk", (".awk", ".sed")),
    Language("batch", (".bat", ".cmd")),
    Language("text", (".txt", ".rst", ".adoc", ".asciidoc", ".org", ".tex", ".rdoc", ".pod", ".typ", ".textile"), DOCS, filenames=("README", "CHANGELOG", "CONTRIBUTING", "NEWS", "HISTORY", "AUTHORS", "TODO")),
    Language("json", (".json", ".jsonc", ".json5", ".jsonl", ".webmanifest"), CONFIG),
    Language("yaml", (".yaml", ".yml"), CONFIG),
    Language("toml", (".toml",), CONFIG, filenames=("Pipfile", "Cargo.lock")),
    Language("xml", (".xml", ".xsd", ".xsl", ".xslt", ".svg", ".plist", ".csproj", ".vbproj", ".fsproj", ".sln", ".props", ".targets", ".resx", ".wsdl", ".pom"), CONFIG),
    Language("ini", (".ini", ".cfg", ".conf", ".properties", ".env", ".editorconfig", ".service", ".desktop", ".lock", ".mod", ".sum", ".cabal"), CONFIG, filenames=("go.mod", "go.sum", "LICENSE", "COPYING", "NOTICE", ".editorconfig", ".gitattributes", ".npmrc", "Procfile")),
    Language("csv", (".csv", ".tsv", ".psv"), CONFIG),
)  # fmt: skip

BY_NAME = {language.name: language for language in LANGUAGES}
KNOWN_NAMES = tuple(sorted(BY_NAME))
#: A file of no known language is still text, and is searched as prose.
UNKNOWN = Language("unknown", (), DOCS)


@cache
def _by_extension() -> dict[str, Language]:
    return {extension: language for language in LANGUAGES for extension in language.extensions}


@cache
def _by_filename() -> dict[str, Language]:
    return {name: language for language in LANGUAGES for name in language.filenames}


@cache
def _by_interpreter() -> dict[str, Language]:
    return {name: language for language in LANGUAGES for name in language.interpreters}


def language_of(path: str, head: bytes = b"") -> Language:
    """The language of a file, from its name or, failing that, its first line."""
    name = PurePosixPath(path).name
    found = _by_filename().get(name)
    if found is None and "." in name:
        extension = name[name.rindex(".") :]
        found = _by_extension().get(extension) or _by_extension().get(extension.lower())
    if found is None and head.startswith(b"#!"):
        found = _of_shebang(head)
    if found is not None and found.name == "cpp" and name.endswith(".h") and not looks_like_cpp(head):
        return BY_NAME["c"]
    return found or UNKNOWN


def _of_shebang(head: bytes) -> Language | None:
    words = head.split(b"\n", 1)[0][2:].decode("utf-8", "replace").split()
    names = [word.rsplit("/", 1)[-1] for word in words if not word.startswith("-") and "=" not in word]
    if names and names[0] == "env":
        names = names[1:]
    return _by_interpreter().get(names[0].rstrip("0123456789.") or names[0]) if names else None


def looks_like_cpp(head: bytes) -> bool:
    """Whether a header is C++: it says something that C cannot."""
    marks = (
        b"namespace ",
        b"template",
        b"class ",
        b"public:",
        b"private:",
        b"std::",
        b"constexpr",
        b"using ",
        b"nullptr",
        b"#include <string>",
        b"virtual ",
    )
    return any(mark in head for mark in marks)  # fmt: skip
