"""What the nodes of a grammar are to a reader: told from their names, and from tables where the names tell it wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Language

COMMENT, STRING, NUMBER, KEYWORD = "comment", "string", "number", "keyword"
TYPE, FUNCTION, CONSTANT, ATTRIBUTE = "type", "function", "constant", "attribute"
#: What has no colour and hides the one around it: an interpolation in a string, the arguments of a decorator.
CODE = "code"
#: Text in another language.
EMBEDDED = "embedded"

#: What a node without a colour makes of the names in it.
CALL = "call"
MEMBER = "member"  # its last name is what the whole stands for: `a.b`
HOLDER = "holder"  # a name in it stands where the whole stands: `name<Type>`
DEFINES_FUNCTION = "defines a function"
DEFINES_TYPE = "defines a type"
TYPE_PLACE = "type place"  # names in it are types
ATTRIBUTE_PLACE = "attribute place"  # its first name is an attribute
AFTER_NAME = "after a name"  # the name right before it is a function
ARGUMENTS = "arguments"
STYLE = "style"  # what is embedded in it is no program
_PARTS = frozenset({STYLE, CALL, MEMBER, HOLDER, DEFINES_FUNCTION, DEFINES_TYPE, TYPE_PLACE, ATTRIBUTE_PLACE, AFTER_NAME, ARGUMENTS})
_NOTHING = ""

#: Words that stand for one value, in whichever language they are words.
VALUES = frozenset("true false null nil none None True False undefined nothing self Self this super NULL nullptr iota".split())
_WORD = re.compile(r"[#@]?[A-Za-z][\w ]*[?!*:]?|unowned\(\w+\)")
_FUNCTIONS = r"(function|method|constructor|macro|accessor|getter|setter)"
_TYPES = r"(class|struct|interface|enum|trait|protocol|record|union|object|module|namespace|type|mixin|extension)"
#: The first that is found in the name of a kind decides.
_BY_NAME: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), role)
    for pattern, role in (
        (r"^keyword_(true|false|null)$", CONSTANT),
        (r"^keyword_(?!argument|pattern|parameter|separator)|_builtin$", KEYWORD),
        (r"(^|_)comments?$|^hash_bang_line$|^shebang", COMMENT),
        (r"escape", CONSTANT),
        (r"^((template|command|process)_)?substitution$|interpolation$|^interpolated_expression$", CODE),
        (r"^(boolean|null|nil|none|undefined|true|false|this|self|super)(_literal|_expression)?$", CONSTANT),
        (r"symbol(_literal)?$|^atom$", CONSTANT),
        (r"(^|_)(integer|float|floating_point|number|real|int|imaginary|hex|oct|bin|numeric|decimal)(_literal|_scalar)?$", NUMBER),
        (r"(^|_)(string|char|character|rune|regex|heredoc|charlist|sigil)(_literal|_fragment|_content|_body|_start|_end)*$", STRING),
        (r"string_(literal|expression|content)|^quoted_", STRING),
        (r"^(type_identifier|(primitive|predefined|builtin|integral|floating_point|boolean|void|unit)_type)$", TYPE),
        (r"^(decorator|(marker_)?annotation|(inner_)?attribute_(item|list|group|specifier|declaration)|pragma)$", ATTRIBUTE),
        (r"^(arrow_function|anonymous_function|function_expression|func_literal)$", AFTER_NAME),
        (r"^(type|user_type|generic_type|superclass|base_list)$", TYPE_PLACE),
        (r"^type_(annotation|arguments?|argument_list|parameters?|parameter_list|descriptor)$", TYPE_PLACE),
        (r"argument", ARGUMENTS),
        (r"call|invocation|application|^apply$|creation_expression$|^new_expression$", CALL),
        (_FUNCTIONS + r"_?(\w+_)?(definition|declaration|declarator|item|signature|statement|def|elem)$", DEFINES_FUNCTION),
        (_TYPES + r"_?(\w+_)?(definition|declaration|item|specifier|spec|def|alias)$", DEFINES_TYPE),
        (r"^(member|field|selector|navigation|scoped|qualified|dot|method)_?(index_)?(expression|identifier|access_expression|name)$",
         MEMBER),
    )
)  # fmt: skip

_JSX = {
    "jsx_opening_element": DEFINES_TYPE, "jsx_closing_element": DEFINES_TYPE, "jsx_self_closing_element": DEFINES_TYPE,
    "jsx_attribute": ATTRIBUTE_PLACE, "jsx_text": CODE, "html_character_reference": CONSTANT, "template_string": STRING,
    "internal_module": DEFINES_TYPE, "undefined": CONSTANT,
}  # fmt: skip
_TAGS = {
    "tag_name": KEYWORD, "attribute_name": ATTRIBUTE, "attribute_value": STRING, "directive_name": ATTRIBUTE, "directive_value": ATTRIBUTE,
    "entity": CONSTANT, "doctype": KEYWORD, "text": CODE, "raw_text": EMBEDDED, "svelte_raw_text": EMBEDDED, "expression": CODE,
    "style_element": STYLE, "erroneous_end_tag_name": KEYWORD,
}  # fmt: skip
_SQL_TYPES = (
    "bigint binary bit char decimal double float int mediumint nchar numeric nvarchar smallint time timestamp tinyint varbinary varchar"
)
#: By language and kind; the kind of a token that has no name of its own stands in quotes.
EXCEPTIONS: dict[str, dict[str, str]] = {
    "bash": {"command_name": CALL, "simple_expansion": CODE, "expansion": CODE, "arithmetic_expansion": CODE},
    "cpp": {"destructor_name": FUNCTION, "auto": KEYWORD, "template_function": HOLDER, "template_method": HOLDER},
    "csharp": {"generic_name": HOLDER, "interpolation_format_clause": STRING},
    "dart": {"identifier_dollar_escaped": _NOTHING, "argument_part": AFTER_NAME, "abstract": KEYWORD, "sealed": KEYWORD},
    "elixir": {"alias": TYPE, "keyword": CONSTANT, "dot": MEMBER, "bitstring": _NOTHING},
    "haskell": {
        "name": TYPE, "constructor": TYPE, "haddock": COMMENT, "function": DEFINES_FUNCTION, "signature": DEFINES_FUNCTION,
        "quasiquote_body": STRING, "type_application": TYPE_PLACE, "module_id": TYPE,
    },
    "html": _TAGS,
    "javascript": _JSX,
    "julia": {"content": STRING, "macro_identifier": ATTRIBUTE, "prefixed_string_literal": STRING},
    "kotlin": {"qualified_identifier": _NOTHING},
    "ocaml": {
        "type_constructor": TYPE, "constructor_name": TYPE, "module_name": TYPE, "module_type_name": TYPE, "class_name": TYPE,
        "class_type_name": TYPE, "value_path": HOLDER, "parameter": AFTER_NAME, "fun_expression": AFTER_NAME, "attribute": ATTRIBUTE,
        "item_attribute": ATTRIBUTE, "floating_attribute": ATTRIBUTE, "type_variable": TYPE, "conversion_specification": CONSTANT,
        "method_name": FUNCTION,
    },
    "perl": {
        "string_double_quoted": STRING, "string_single_quoted": STRING, "string_q_quoted": STRING, "string_qq_quoted": STRING,
        "backtick_quoted": STRING, "command_qx_quoted": STRING, "word_list_qw": STRING, "heredoc_body_statement": STRING,
        "pattern_matcher": STRING, "pattern_matcher_m": STRING, "regex_pattern_qr": STRING, "substitution_pattern_s": STRING,
        "transliteration_tr_or_y": STRING, "hexadecimal": NUMBER, "octal": NUMBER, "scientific_notation": NUMBER, "version": NUMBER,
        "pod_statement": COMMENT, "data_not_for_compiler": COMMENT, "call_expression_with_bareword": HOLDER, "arguments": _NOTHING,
    },
    "php": {
        "php_tag": KEYWORD, "text": CODE, "variable_name": CODE, "member_access_expression": CODE, "subscript_expression": CODE,
        "encapsed_string": STRING, "nowdoc_string": STRING, "heredoc": STRING, "nowdoc": STRING, "nullsafe_member_access_expression": CODE,
    },
    "python": {"attribute": MEMBER},
    "r": {
        '"special"': _NOTHING, "na": CONSTANT, "inf": CONSTANT, "nan": CONSTANT, "function_definition": AFTER_NAME,
        "namespace_operator": MEMBER,
    },
    "ruby": {"class": DEFINES_TYPE, "module": DEFINES_TYPE, "method": DEFINES_FUNCTION, "singleton_method": DEFINES_FUNCTION},
    "rust": {"generic_function": HOLDER, "lifetime": ATTRIBUTE, "mutable_specifier": KEYWORD, "crate": KEYWORD},
    "scala": {"wildcard": KEYWORD, "instance_expression": CALL, "generic_function": HOLDER},
    "sql": {
        "marginalia": COMMENT, "object_reference": HOLDER, "literal": _NOTHING, "create_function": DEFINES_FUNCTION,
        **dict.fromkeys(_SQL_TYPES.split(), TYPE),
    },
    "svelte": _TAGS,
    "swift": {
        "attribute": ATTRIBUTE, "throws": KEYWORD, "else": KEYWORD, "navigation_suffix": HOLDER, "default_keyword": KEYWORD,
        "catch_keyword": KEYWORD, "where_keyword": KEYWORD, "line_str_text": STRING, "multi_line_str_text": STRING,
    },
    "tsx": _JSX,
    "typescript": _JSX,
    "vue": _TAGS,
    "zig": {"builtin_identifier": FUNCTION, "multiline_string": STRING},
}  # fmt: skip

#: Names that their language's grammar takes for any other.
_WORDS = {
    "elixir": "def defp defmodule defmacro defmacrop defstruct defprotocol defimpl defguard defdelegate defexception use alias import "
    "require if unless case cond with for quote unquote raise receive try",
    "perl": "print defined",
    "scala": "to until",
}  # fmt: skip
#: Where names of functions, fields or plain words begin with a capital as well.
_CAPITAL_IS_NO_TYPE = frozenset({"bash", "c", "cpp", "csharp", "go", "html", "perl", "r", "sql", "svelte", "vue"})
#: Fields that hold what is called, what is defined, and what is a type.
_CALLEE = ("function", "method", "name", "target", "macro", "constructor", "function_name", "type")
_DEFINED = ("name", "declarator")
_TYPED = ("type", "return_type", "returns", "superclass")


@dataclass(frozen=True, slots=True)
class Palette:
    """What the kinds of nodes of a grammar are, by their numbers."""

    colours: dict[int, str]  # of nodes that have one themselves, CODE and EMBEDDED among them
    parts: dict[int, str]  # what the others make of the names in them
    whole: frozenset[int]  # what is in these has no other colour
    callee: frozenset[int]  # the fields by these names
    defined: frozenset[int]
    typed: frozenset[int]
    words: frozenset[bytes]  # names that are keywords
    capital_is_type: bool


def palette_of(language: str, grammar: Language) -> Palette:
    """The palette of a language."""
    colours, parts = {}, {}
    exceptions = EXCEPTIONS.get(language, {})
    for number, kind, named in _kinds(grammar):
        known = exceptions.get(kind if named else f'"{kind}"')
        role = _role(kind, named=named) if known is None else known
        if role in _PARTS:
            parts[number] = role
        elif role:
            colours[number] = role
    return Palette(
        colours=colours,
        parts=parts,
        whole=frozenset(number for number, role in colours.items() if role not in (STRING, ATTRIBUTE, CODE)),
        callee=_fields(grammar, _CALLEE),
        defined=_fields(grammar, _DEFINED),
        typed=_fields(grammar, _TYPED),
        words=frozenset(_WORDS.get(language, "").encode().split()),
        capital_is_type=language not in _CAPITAL_IS_NO_TYPE,
    )


def _kinds(grammar: Language) -> Iterator[tuple[int, str, bool]]:
    for number in range(grammar.node_kind_count):
        kind = grammar.node_kind_for_id(number)
        if kind and grammar.node_kind_is_visible(number):
            yield number, kind, grammar.node_kind_is_named(number)


def _role(kind: str, *, named: bool) -> str:
    if not named:
        return CONSTANT if kind in VALUES else KEYWORD if _WORD.fullmatch(kind) else _NOTHING
    return next((role for pattern, role in _BY_NAME if pattern.search(kind)), _NOTHING)


def _fields(grammar: Language, names: tuple[str, ...]) -> frozenset[int]:
    return frozenset(number for name in names if (number := grammar.field_id_for_name(name)) is not None)
