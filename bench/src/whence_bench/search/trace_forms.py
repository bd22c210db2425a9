"""Stack traces through a repository as its language writes them, made with a seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """A function that a trace goes through: where it is, what it is in, what it is called."""

    path: str
    line: int
    owner: str
    name: str


@dataclass(frozen=True, slots=True)
class TraceForm:
    """How one language writes a trace: the line of a step, what stands before and after, and steps through code of others."""

    step: Callable[[Step], str]
    error: str
    inner: tuple[str, ...] = ()
    outer: tuple[str, ...] = ()
    innermost_last: bool = False
    error_last: bool = False

    def write(self, steps: Sequence[Step], chance: random.Random) -> str:
        """A trace through some steps, the innermost first."""
        inner = list(self.inner[: chance.randint(0, len(self.inner))])
        lines = [*inner, *map(self.step, steps), *self.outer]
        if self.innermost_last:
            lines.reverse()
        return "\n".join([*lines, self.error] if self.error_last else [self.error, *lines])


def _package(step: Step) -> str:
    return ".".join(["org", "example", *step.path.split("/")[:-1]])


def _stem(step: Step) -> str:
    return step.path.rsplit("/", 1)[-1].split(".")[0]


_JVM = TraceForm(
    lambda s: f"\tat {_package(s)}.{s.owner or _stem(s)}.{s.name}({s.path.rsplit('/', 1)[-1]}:{s.line})",
    'Exception in thread "main" java.lang.IllegalStateException: Expected a value but was null',
    (
        "\tat java.base/java.util.Objects.requireNonNull(Objects.java:233)",
        "\tat java.base/java.util.ArrayList.forEach(ArrayList.java:1511)",
    ),
    (
        "\tat java.base/java.lang.reflect.Method.invoke(Method.java:568)",
        "\tat org.junit.runners.ParentRunner.run(ParentRunner.java:413)",
        "\t... 23 more",
    ),
)
_NODE = TraceForm(
    lambda s: f"    at {s.owner + '.' if s.owner else ''}{s.name} (/home/ci/work/app/{s.path}:{s.line}:17)",
    "TypeError: Cannot read properties of undefined (reading 'length')",
    ("    at Array.map (<anonymous>)",),
    (
        "    at Layer.handle (/home/ci/work/app/node_modules/express/lib/router/layer.js:95:5)",
        "    at node:internal/process/task_queues:95:5",
    ),
)
#: By language of the repository, the set it belongs to and the form.
TRACE_FORMS: Mapping[str, tuple[str, TraceForm]] = {
    "python": (
        "developed",
        TraceForm(
            lambda s: f'  File "/srv/app/{s.path}", line {s.line}, in {s.name}\n    return self.apply(value)',
            "KeyError: 'name'",
            ('  File "/usr/lib/python3.11/json/decoder.py", line 337, in decode\n    obj, end = self.raw_decode(s)',),
            (
                '  File "/srv/venv/lib/python3.11/site-packages/gunicorn/workers/sync.py", line 134, in handle\n    self.run(req)',
                "Traceback (most recent call last):",
            ),
            innermost_last=True,
            error_last=True,
        ),
    ),
    "java": ("developed", _JVM),
    "kotlin": ("developed", _JVM),
    "scala": ("developed", _JVM),
    "javascript": ("developed", _NODE),
    "typescript": ("developed", _NODE),
    "go": (
        "developed",
        TraceForm(
            lambda s: (
                f"example.com/app/pkg.{'(*' + s.owner + ').' if s.owner else ''}{s.name}(0xc000112000, 0x2)\n"
                f"\t/build/src/{s.path}:{s.line} +0x1d4"
            ),
            "panic: runtime error: invalid memory address or nil pointer dereference\n"
            "[signal SIGSEGV: segmentation violation code=0x1]\n\ngoroutine 1 [running]:",
            ("runtime.panicmem(...)\n\t/usr/local/go/src/runtime/panic.go:260",),
            ("main.main()\n\t/build/src/cmd/app/main.go:31 +0x25\nexit status 2",),
        ),
    ),
    "rust": (
        "held out",
        TraceForm(
            lambda s: f"   7: app::{_stem(s)}::{s.owner + '::' if s.owner else ''}{s.name}\n             at ./{s.path}:{s.line}:9",
            "thread 'main' panicked at 'called `Option::unwrap()` on a `None` value'\nstack backtrace:",
            (
                "   0: rust_begin_unwind\n             at /rustc/90c541806f23a127/library/std/src/panicking.rs:578:5",
                "   1: core::panicking::panic_fmt",
            ),
            ("  19: std::rt::lang_start::{{closure}}\n             at /rustc/90c541806f23a127/library/std/src/rt.rs:166:17",),
        ),
    ),
    "ruby": (
        "held out",
        TraceForm(
            lambda s: f"\tfrom /home/deploy/app/{s.path}:{s.line}:in `{s.name}'",
            "undefined method `each' for nil:NilClass (NoMethodError)",
            ("\tfrom /usr/lib/ruby/3.1.0/json/common.rb:216:in `parse'",),
            ("\tfrom /home/deploy/.gem/ruby/3.1.0/gems/puma-6.0.0/lib/puma/thread_pool.rb:147:in `block in spawn_thread'",),
        ),
    ),
    "php": (
        "held out",
        TraceForm(
            lambda s: f"#3 /var/www/html/{s.path}({s.line}): App\\{s.owner or _stem(s)}->{s.name}(Array, NULL)",
            "PHP Fatal error:  Uncaught TypeError: Argument 1 must be of type string, null given\nStack trace:",
            ("#0 [internal function]: array_map(Object(Closure), Array)",),
            ("#9 /var/www/html/vendor/symfony/console/Application.php(987): Symfony\\Console\\Command->run()", "#10 {main}"),
        ),
    ),
    "csharp": (
        "held out",
        TraceForm(
            lambda s: (
                f"   at Example.App.{s.owner or _stem(s)}.{s.name}(String key, Int32 count)"
                f" in C:\\work\\app\\{s.path.replace('/', chr(92))}:line {s.line}"
            ),
            "Unhandled exception. System.InvalidOperationException: Sequence contains no elements",
            ("   at System.Linq.Enumerable.First[TSource](IEnumerable`1 source)",),
            ("   at System.Threading.Tasks.Task.Execute()", "--- End of stack trace from previous location ---"),
        ),
    ),
    "elixir": (
        "held out",
        TraceForm(
            lambda s: f"    (app 0.1.0) {s.path}:{s.line}: {s.owner or 'App'}.{s.name}/2",
            "** (FunctionClauseError) no function clause matching",
            ("    (elixir 1.14.0) lib/enum.ex:975: Enum.each/2",),
            ("    (stdlib 4.2) gen_server.erl:1123: :gen_server.try_dispatch/4",),
        ),
    ),
    "c": (
        "held out",
        TraceForm(
            lambda s: f"#4  0x000055d4a1b2 in {s.name} (ctx=0x7ffd10, flags=0) at {s.path}:{s.line}",
            "Program received signal SIGSEGV, Segmentation fault.",
            ("#0  __strlen_avx2 () at ../sysdeps/x86_64/multiarch/strlen-avx2.S:74",),
            ("#9  0x000055d4a001 in __libc_start_main (main=0x55d4) at ../csu/libc-start.c:308",),
        ),
    ),
    "lua": (
        "held out",
        TraceForm(
            lambda s: f"\t/home/u/.local/share/plugin/{s.path}:{s.line}: in function '{s.name}'",
            "Error executing vim.schedule lua callback: attempt to index a nil value\nstack traceback:",
            ("\t[C]: in function 'error'",),
            ("\t/usr/share/runtime/lua/vim/_editor.lua:341: in function 'pcall'",),
        ),
    ),
}
