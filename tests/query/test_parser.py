"""The query language: what is read as an operator, and how much is not."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from small_cases import each
from whence.core.errors import QueryError
from whence.query.parser import AllOf, AnyOf, Condition, Leaf, note_matches, parse_operators

#: Ordinary text, one on a line: nothing in it is an operator.
PLAIN = r"""
how are sessions stored
where is the "session" cookie set
What does the "smart" cache do?
why is "lazy loading" slow here
"foo" is not defined
"connection refused" is what the client says
he said "fix it" and left
the user sees "could not open file" after login
error "file not found" is raised when the config is missing
No module named "requests"
Cannot find module "lodash"
unknown option "verbose"
KeyError: "name"
expected "}" but found "]"
press "y" to continue
a 15" monitor
rock 'n' roll
don't parse "this"
it's the user's session
parse "a
parse a"
an unclosed "quote in a question
say "hi", then leave
what does -verbose do
the -race flag of the test command
-verbose
-1
--help
-verbose flag
foo - bar
foo -- bar
well-known ports
read-only mode
non -blocking io
e-mail
x -y
5 -3
range 1-10
a -b -c
- first item
* second item -foo
tar -xzf archive.tar.gz
git log -p
git commit -m "fix the bug"
git log --oneline -n 5
git checkout -b feature/path
git rebase -interactive HEAD~3
ls -la /tmp
find . -name "*.py"
find src -type f -exec grep foo {} +
grep -rn "foo bar" src/
rg "connection reset" src
gcc -Wall -Werror main.c
go test -run TestFoo ./...
java -jar app.jar
docker run -it --rm ubuntu
docker run -v path:/data image
kubectl get pods -n kube-system
npm install --save-dev jest
python -m pytest -x
curl -X POST "http://localhost:8080/api"
echo "hello world"
cat file | grep foo
ps aux | grep -v root
make -j4 install
terraform apply -auto-approve
Get-ChildItem -Recurse -Filter *.cs
./configure -prefix /usr
ssh -i key.pem user@host
sudo systemctl restart nginx -force
ffmpeg -i in.mp4 -vcodec copy out.mp4
mvn clean install -DskipTests
and/or
read/write lock
client/server
/usr/lib
/usr/lib/
/usr/lib/python3/site-packages
/etc/ and /tmp/
/api/users
/api/users/:id
/users/{id}/
/api/
/tmp*/
I/O
TCP/IP stack
src/app.py
./src/app.py
~/notes.txt
/dev/null
either /foo or /bar/
s/foo/bar/g
/* a comment */
// a comment
use the regex .* to match
the pattern /^\d+$/ is wrong
what does ^foo$ match
why does /a+b/ not match
x.replace(/a+/g, "")
50/50 split
1/2
path: foo
path::Component
kind://x
std::path::Path
f(path:string, lang:string)
def f(path:string, lang:python):
function f(path: string): void
(path:string) => void
{ path:"foo" }
{path:foo}
{"path":"foo"}
"path": "foo"
path:"foo",
let path:String = x
path:string;
kind: Deployment
lang="en"
<html lang:en>
sym::nested
in: the beginning
log in:admin
file:open erlang
math:floor
callers: none
what does kind:function mean
how do I use path:src in a query
does lang:go work here
the field in:code is unclear
PATH:/usr/bin
time 10:30
at 10:30:45
ratio 16:9
localhost:8080
http://example.org/path:foo
https://example.org/a?b=c
ftp://host/dir/
mailto:ada@example.org
ada@example.org
user:password
key:value
TODO:fix
C:\Users\ada\file.txt
C:\path:foo
\\server\share
node:fs module
npm:react
data:image/png
urn:isbn:123
origin/main..HEAD
HEAD~3
main...feature
v1.2.3-rc.1
@scope/package
#123
fix(parser): handle empty input
feat: add retry
WIP: do not merge
:-)
;-) great
:( it fails
<3
¯\_(ツ)_/¯
# Heading
## Usage "quoted"
> quoted text
- [ ] todo item
[link](http://example.org)
**bold** and _italic_
`code` span
```python
| a | b |
either this OR that
should I use locks OR queues
OR
OR gate
logic OR
x OR y
a OR b
Portland OR 97201
AND OR NOT
READ THE FILE OR FAIL
SELECT * FROM users WHERE id = 1 OR name = 'x'
SELECT name FROM users WHERE a OR b
WHERE deleted IS NULL OR expired
INSERT INTO t VALUES ("a b")
DELETE FROM sessions WHERE user_id IN (1, 2)
if (a OR b) then
if a or b:
x || y
true or false
(see the docs)
(foo)
foo (bar) baz
f(x)
f(x, y)
foo()
(a + b) * c
((nested) parens)
print("hello world")
print "hello"
puts "hello world"
return "not found"
import "net/http"
import React from "react"
require "json"
#include "stdio.h"
#include <stdio.h>
extern "C"
raise ValueError("bad value")
x = "hello world"
const path = "src/app"
let x: string = "a b"
var s string = "a b"
fmt.Println("hello world")
System.out.println("hello world");
std::cout << "hello world";
console.log("a", "b")
val path: String = "x"
public static void main(String[] args)
def parse(self, path: str) -> None:
fn main() -> Result<(), Error>
func (s *Server) Start() error
if (x == "foo bar") return;
for (int i = 0; i < n; i++)
a ? b : c
x -= 1
a->b
p->next
List<String> names
@app.route("/users")
[1, 2, "a b"]
{"name": "a b"}
name: "a b"
- name: "a b"
apiVersion: v1
image: "nginx:latest"
key = "a b"
[section]
<div class="foo bar">
</div>
$foo = "bar baz";
echo $HOME
${VAR:-default}
File "app.py", line 10, in main
Traceback (most recent call last):
TypeError: Cannot read property "x" of undefined
at Object.<anonymous> (/app/index.js:10:5)
at com.example.Main.run(Main.java:42)
panic: runtime error: index out of range [5] with length 3
goroutine 1 [running]: main.main()
thread 'main' panicked at src/main.rs:10:5
#0 0x00007f in main () at main.c:10
Exception in thread "main" java.lang.NullPointerException
System.NullReferenceException: Object reference not set
Caused by: java.io.IOException: "no such file"
wie funktioniert das "lazy loading" hier eigentlich genau bei uns im Code
où est "la session" ?
log.warn "no such key here"
nvm_err "Checksums do not match"
desc "Create #{name} now"
test "should get edit" do
"f_files: %" SIZE_MASK "\n"
.. "a b"
"a b" <>
(Dir extends "in out"
NAME STREQUAL "a b" OR
return self.directory / "segments"
""
" "
//
/ /
()
( )
-
-(
-"
:
path:
lang:
""".strip("\n").split("\n")

#: Texts of several lines, and long ones: never read, whatever they hold.
PASTED = [
    'Traceback (most recent call last):\n  File "app.py", line 3, in main\nValueError: "bad value"',
    "TypeError: x is undefined\n    at run (/app/index.js:10:5)\n    lang:go",
    "panic: boom\n\ngoroutine 1 [running]:\nmain.main()\n\t/src/main.go:5 +0x1d",
    "java.lang.IllegalStateException: no\n\tat a.B.c(B.java:1)\n\tat a.B.main(B.java:9)",
    "error[E0308]: mismatched types\n --> src/main.rs:2:5\n  |",
    "You are a helpful assistant.\nUse path:src and lang:python.\n-test",
    "def f():\n    return 1 OR 2",
    "lang:go\npath:cmd",
    "lang:go " + "word " * 100,
]

#: Queries in the language: what is ranked, and what must hold.
MEANT = [
    ("lang:go", "", "lang:go"),
    ("lang:go path:cmd", "", "lang:go; path:cmd"),
    ("retry lang:go", "retry", "lang:go"),
    ("lang:go retry backoff", "retry backoff", "lang:go"),
    ("retry lang:go backoff", "retry backoff", "lang:go"),
    ("LANG:go lang:Go", "LANG:go", "lang:go"),
    ("lang:py lang:js", "", "lang:python; lang:javascript"),
    ("lang:c++ lang:c# lang:golang", "", "lang:cpp; lang:csharp; lang:go"),
    ("language:rust retry", "retry", "lang:rust"),
    ("kind:function retry", "retry", "kind:function"),
    ("kind:Class", "", "kind:class"),
    ("path:src/net retry", "retry", "path:src/net"),
    ("path:*.py retry", "retry", "path:*.py"),
    ("path:src/**/test_*.py", "", "path:src/**/test_*.py"),
    ("path:./src path:/lib", "", "path:./src; path:/lib"),
    ('path:"my folder/" retry', "retry", 'path:"my folder/"'),
    ('path:"a b" "c d"', "c d", 'path:"a b"; "c d"'),
    ("sym:Session", "", "sym:Session"),
    ("sym:Session.open retry", "retry", "sym:Session.open"),
    ("sym:net::Client", "", "sym:net::Client"),
    ("sym:src/app.py#run", "", "sym:src/app.py#run"),
    ('sym:"operator =="', "", 'sym:"operator =="'),
    ("callers:parse", "", "callers:parse"),
    ("callers:parse() -path:test", "", "callers:parse(); not path:test"),
    ("callees:Session.open retry", "retry", "callees:Session.open"),
    ("in:docs retry", "retry", "in:docs"),
    ("in:all retry policy", "retry policy", "in:all"),
    ("in:notes retry", "retry", "notes"),
    ("in:notes retry -draft path:net", "retry", "notes; not draft; path:net"),
    ('"connection reset by peer"', "connection reset by peer", '"connection reset by peer"'),
    ('"connection reset" parser', "connection reset parser", '"connection reset"'),
    ('parser "connection   reset"', "parser connection reset", '"connection reset"'),
    ('"retry" backoff', "retry backoff", '"retry"'),
    ('"connection refused" in client', "connection refused in client", '"connection refused"'),
    (r'"say \"hi\" now" greeting', 'say "hi" now greeting', '"say "hi" now"'),
    ('"foo(bar" lang:go', "foo(bar", '"foo(bar"; lang:go'),
    ('"=>" lang:rust', "", '"=>"; lang:rust'),
    ('retry -"never again"', "retry", 'not "never again"'),
    ("retry -legacy", "retry", "not legacy"),
    ("retry -legacy -mock backoff", "retry backoff", "not legacy; not mock"),
    ("get user -test", "get user", "not test"),
    ("retry -lang:go", "retry", "not lang:go"),
    ("retry NOT lang:go", "retry", "not lang:go"),
    ("NOT (path:tests OR path:src) retry", "retry", "not path:tests; not path:src"),
    ('retry NOT "max tokens"', "retry", 'not "max tokens"'),
    ("/tok.ns/ OR /bud.et/", "", "(/tok.ns/ or /bud.et/)"),
    ("-path:vendor retry", "retry", "not path:vendor"),
    ("-test lang:go retry", "retry", "not test; lang:go"),
    ("-kind:class -in:docs", "", "not kind:class; not in:docs"),
    (r"/retry_\w+/", "", r"/retry_\w+/"),
    ("/TODO/", "", "/TODO/"),
    ("/def retry/", "", "/def retry/"),
    ("/foo.*bar/i", "", "/foo.*bar/i"),
    ("/retry/i backoff", "backoff", "/retry/i"),
    ("/retry/ lang:go", "", "/retry/; lang:go"),
    (r"timeout /open (file|socket)/", "timeout", "/open (file|socket)/"),
    (r"/a\/b+/ lang:go", "", r"/a\/b+/; lang:go"),
    ("retry -/TODO|FIXME/", "retry", "not /TODO|FIXME/"),
    ("retry OR backoff", "retry backoff", "(retry or backoff)"),
    ("http retry OR backoff OR timeout client", "http retry backoff timeout client", "(retry or backoff or timeout)"),
    ("path:src OR path:lib retry", "retry", "(path:src or path:lib)"),
    ('"foo bar" OR "baz qux"', "foo bar baz qux", '("foo bar" or "baz qux")'),
    ("retry OR /back.?off/", "retry", "(retry or /back.?off/)"),
    ("GET OR POST", "GET POST", "(GET or POST)"),
    ("(retry OR backoff) lang:go", "retry backoff", "(retry or backoff); lang:go"),
    ("(lang:go OR lang:rust) (path:src OR path:lib)", "", "(lang:go or lang:rust); (path:src or path:lib)"),
    ("( lang:go OR lang:rust ) retry", "retry", "(lang:go or lang:rust)"),
    ("((lang:go path:cmd) OR path:lib) retry", "retry", "((lang:go, path:cmd) or path:lib)"),
    ("(retry lang:go) OR path:lib", "retry", "((lang:go, retry) or path:lib)"),
    ("(lang:go retry)", "retry", "lang:go"),
    ("retry -(lang:go OR path:test)", "retry", "not lang:go; not path:test"),
    ("retry -(lang:go path:test)", "retry", "(not lang:go or not path:test)"),
    ("-(foo OR bar) lang:go baz", "baz", "not foo; not bar; lang:go"),
    ("lang:go AND retry", "retry", "lang:go"),
    ("how does retry work lang:go", "how does retry work", "lang:go"),
    ("lang:go how does retry work?", "how does retry work?", "lang:go"),
    ("how does retry work lang:go -test", "how does retry work", "lang:go; not test"),
    ("(path:src OR path:lib) where is the session", "where is the session", "(path:src or path:lib)"),
    ('where is the "session" cookie lang:go', 'where is the "session" cookie', "lang:go"),
    ("parse_config() path:src", "parse_config()", "path:src"),
    ("std::vector lang:cpp -test", "std::vector", "lang:cpp; not test"),
    ("x = f(y); lang:python", "x = f(y);", "lang:python"),
    ("git log -p lang:python", "git log -p", "lang:python"),
    ("find path:src", "find", "path:src"),
]

#: Mistakes: the query, what is said, and where the caret stands.
WRONG = [
    ("lang:pythn retry", "unknown language 'pythn'", 5, "nearest: python"),
    ("retry lang:qqqq", "unknown language 'qqqq'", 11, "allowed: "),
    ("kind:functoin", "unknown kind 'functoin'", 5, "nearest: function"),
    ("in:foo", "cannot search in 'foo'", 3, "allowed: code"),
    ("retry in:admin", "cannot search in 'admin'", 9, "allowed: code"),
    ("/a(/", "missing ), unterminated subpattern", 2, ""),
    ("lag:go retry", "there is no field 'lag'", 0, "nearest: lang:"),
    ("retry file:src/app.py", "there is no field 'file'", 6, "nearest: path:"),
    ("symbol:Session", "there is no field 'symbol'", 0, "nearest: sym:"),
    ("lang:go in:doc", "cannot search in 'doc'", 11, "nearest: docs"),
    ("lang:go pat:cmd", "there is no field 'pat'", 8, "nearest: path:"),
    ("how does it work lang:pyhton", "unknown language 'pyhton'", 22, "nearest: python"),
    ("(retry OR backoff", "never closed", 0, ""),
    ("retry (lang:go OR path:x", "never closed", 6, ""),
    ("lang:go path:x)", "closes nothing", 14, ""),
    ('lang:go "retry', "unclosed quote", 8, ""),
    ('lang:go path:"my folder', "unclosed quote", 13, ""),
    ("lang:go OR", "OR needs something on both sides", 8, ""),
    ("OR lang:go retry", "OR needs something on both sides", 0, ""),
    ("lang:go /[a/", "unterminated character set", 9, ""),
    ("lang:go path:[a", "bad glob", 13, ""),
    ("in:notes lang:go retry", "a note has no lang:", 9, "with in:notes"),
    ("in:notes callers:parse", "a note has no callers:", 9, "with in:notes"),
    ("in:notes OR path:src", "in:notes asks for notes", 0, ""),
    ("retry -in:notes", "in:notes asks for notes", 6, ""),
]


@each("text", [*PLAIN, *PASTED])
def test_ordinary_text_is_never_read_as_operators(text: str) -> None:
    asked = parse_operators(text)
    assert (asked.is_plain, asked.text, asked.reading) == (True, text, "")


@each(("query", "ranked", "conditions"), MEANT)
def test_operators_are_read_where_nothing_else_can_be_meant(query: str, ranked: str, conditions: str) -> None:
    asked = parse_operators(query)
    assert "; ".join([*(["notes"] if asked.is_for_notes else []), *map(str, asked.conditions)]) == conditions
    assert asked.text == ranked
    assert asked.reading.startswith("read as: ")


@each(("query", "said", "at", "hint"), WRONG)
def test_a_mistake_is_shown_with_a_caret_under_it(query: str, said: str, at: int, hint: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse_operators(query)
    first, shown, caret = caught.value.message.split("\n")
    assert said in first
    assert shown == f"  {query}"
    assert caret == f"  {' ' * at}^"
    assert caught.value.hint.startswith(hint)


@each("query", [query for query, *_ in (*MEANT, *WRONG)])
def test_read_plainly_every_query_is_words(query: str) -> None:
    assert parse_operators(query, plain=True).is_plain


def test_the_tables_are_as_long_as_they_should_be() -> None:
    assert len(PLAIN) > 150
    assert len(MEANT) > 60
    assert len({*PLAIN}) == len(PLAIN)


def test_how_a_query_was_read_is_said_in_one_line() -> None:
    assert parse_operators('retry path:src -"legacy code" (lang:go OR lang:rust)').reading == (
        'read as: words "retry", path:src, not "legacy code", (lang:go or lang:rust)'
    )


def test_a_group_that_is_not_wanted_is_turned_inside_out() -> None:
    (condition,) = parse_operators("retry -(lang:go path:test)").conditions
    assert isinstance(condition, AnyOf)
    assert all(isinstance(part, Leaf) and part.negated for part in condition.parts)


@each(
    ("query", "passes"),
    [
        ("in:notes retry", True),
        ('in:notes "five  TIMES"', True),
        ('in:notes "six times"', False),
        ("in:notes retry -draft", True),
        ("in:notes retry -requests", False),
        ("in:notes retry /^Ret/", True),
        ("in:notes retry -/[0-9]+/", True),
        ("in:notes path:src/net retry", True),
        ("in:notes path:app/ retry", True),
        ("in:notes path:docs retry", False),
        ("in:notes (path:docs OR path:net) retry", True),
        ("in:notes queue OR requests", True),
        ("in:notes queue OR topic", False),
    ],
)
def test_notes_are_told_apart_by_their_text_and_their_places(query: str, passes: bool) -> None:
    asked = parse_operators(query)
    assert asked.is_for_notes
    assert note_matches(asked, "Retry requests\nfive times at most.", ["app/retry-policy", "src/net.py"]) is passes


OPERATOR_CHARACTERS = '"/-():'
words = st.sampled_from(
    [
        "path:src",
        "lang:go",
        "lang:xx",
        '"',
        '"a b"',
        "/a+/",
        "/",
        "(",
        ")",
        "OR",
        "AND",
        "NOT",
        "-",
        "-test",
        "in:notes",
        "the",
        "retry",
        "f(x)",
        "=",
    ]
)


@given(st.one_of(st.text(max_size=60), st.lists(words, max_size=9).map(" ".join), st.lists(words, max_size=9).map("".join)))
def test_no_text_gives_anything_but_a_reading_or_a_mistake(text: str) -> None:
    try:
        asked = parse_operators(text)
    except QueryError as error:
        assume(error.message.count("\n") != 2)
        raise
    assert asked.query == text
    assert all(valid(one) for one in asked.conditions)
    note_matches(asked, text, ["a/b"])


def valid(condition: Condition) -> bool:
    """Whether a condition has what it speaks of at all ends."""
    return bool(condition.value) if isinstance(condition, Leaf) else all(map(valid, condition.parts))


@given(st.text(alphabet=st.characters(exclude_characters=OPERATOR_CHARACTERS), max_size=80).filter(lambda text: "OR" not in text))
def test_text_without_the_characters_of_operators_is_always_plain(text: str) -> None:
    assert parse_operators(text).is_plain


def test_what_must_all_hold_in_a_group_stays_together() -> None:
    (condition,) = parse_operators("((lang:go path:cmd) OR path:lib) retry").conditions
    assert isinstance(condition, AnyOf)
    assert isinstance(condition.parts[0], AllOf)
