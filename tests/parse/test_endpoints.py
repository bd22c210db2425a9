"""What a file has to do with the world outside: told of each language and framework by a line of its own."""

from __future__ import annotations

import time

from campaigns import some
from small_cases import each
from whence.parse.endpoints import endpoints
from whence.parse.languages import LANGUAGES
from whence.parse.units import parse

WITH_GRAMMAR = [language.name for language in LANGUAGES if language.grammar]

ENVIRONMENT = [
    ("python", 'os.environ["HOME"]', "HOME"),
    ("python", "os.environ.get('PORT', 1)", "PORT"),
    ("python", 'os.getenv("DEBUG")', "DEBUG"),
    ("javascript", "process.env.NODE_ENV", "NODE_ENV"),
    ("typescript", 'process.env["API_KEY"]', "API_KEY"),
    ("typescript", "import.meta.env.VITE_URL", "VITE_URL"),
    ("typescript", 'Deno.env.get("TOKEN")', "TOKEN"),
    ("rust", 'env::var("RUST_LOG")', "RUST_LOG"),
    ("rust", 'env!("CARGO_PKG_NAME")', "CARGO_PKG_NAME"),
    ("go", 'os.Getenv("GOPATH")', "GOPATH"),
    ("go", 'os.LookupEnv("GOPATH")', "GOPATH"),
    ("java", 'System.getenv("JAVA_HOME")', "JAVA_HOME"),
    ("kotlin", 'System.getenv("PORT")', "PORT"),
    ("scala", 'sys.env.get("PORT")', "PORT"),
    ("csharp", 'Environment.GetEnvironmentVariable("PATH")', "PATH"),
    ("ruby", 'ENV["RAILS_ENV"]', "RAILS_ENV"),
    ("ruby", 'ENV.fetch("PORT", 3000)', "PORT"),
    ("php", "getenv('APP_ENV')", "APP_ENV"),
    ("php", "$_SERVER['HTTP_HOST']", "HTTP_HOST"),
    ("c", 'getenv("HOME")', "HOME"),
    ("cpp", 'std::getenv("HOME")', "HOME"),
    ("elixir", 'System.get_env("SECRET")', "SECRET"),
    ("r", 'Sys.getenv("R_HOME")', "R_HOME"),
    ("swift", 'ProcessInfo.processInfo.environment["HOME"]', "HOME"),
    ("dart", "Platform.environment['HOME']", "HOME"),
    ("perl", "$ENV{PATH}", "PATH"),
    ("lua", 'os.getenv("HOME")', "HOME"),
    ("julia", 'ENV["HOME"]', "HOME"),
    ("haskell", 'lookupEnv "HOME"', "HOME"),
    ("ocaml", 'Sys.getenv_opt "HOME"', "HOME"),
    ("zig", 'std.posix.getenv("HOME")', "HOME"),
]

PROCESSES = [
    ("python", 'subprocess.run(["git", "status"])', "git"),
    ("python", 'from subprocess import check_output\ncheck_output(["/usr/bin/make"])', "make"),
    ("python", 'os.system("ls -l")', "ls"),
    ("python", 'await asyncio.create_subprocess_exec("ffmpeg", path)', "ffmpeg"),
    ("javascript", "const { spawn } = require('child_process');\nspawn('npm', ['ci'])", "npm"),
    ("typescript", 'import { execSync } from "child_process";\nexecSync(`git log`)', "git"),
    ("go", 'exec.Command("docker", "ps")', "docker"),
    ("go", 'exec.CommandContext(ctx, "docker", "ps")', "docker"),
    ("rust", 'use std::process::Command;\nCommand::new("rustc")', "rustc"),
    ("java", 'new ProcessBuilder("java", "-version")', "java"),
    ("java", 'Runtime.getRuntime().exec("ls")', "ls"),
    ("csharp", 'Process.Start("dotnet", "build")', "dotnet"),
    ("ruby", 'system("bundle install")', "bundle"),
    ("php", "shell_exec('whoami')", "whoami"),
    ("c", 'system("sync");', "sync"),
    ("elixir", 'System.cmd("mix", ["test"])', "mix"),
    ("dart", "Process.run('pub', [])", "pub"),
]

ROUTES = [
    ("python", '@app.route("/users/<int:id>")\ndef show(id): ...', ["* /users/:id"]),
    ("python", '@app.route("/users", methods=["GET", "POST"])\ndef all(): ...', ["GET /users", "POST /users"]),
    ("python", '@router.get("/items/{item_id}")\nasync def read(item_id): ...', ["GET /items/:item_id"]),
    ("python", 'app.add_url_rule("/x", view_func=show)', ["* /x"]),
    ("python", 'urlpatterns = [path("users/<int:pk>/", views.detail)]', ["* /users/:pk"]),
    ("python", 'urlpatterns = [re_path(r"^old/(?P<year>[0-9]{4})/$", views.old)]', ["* /old/:year"]),
    ("python", 'routes = [Route("/home", homepage)]', ["* /home"]),
    ("javascript", "router.get('/users/:id', auth, show)", ["GET /users/:id"]),
    ("javascript", "app.use('/api', api)", ["* /api"]),
    ("typescript", '@Controller("users")\nexport class A {\n  @Get(":id")\n  one() {}\n}', ["GET /users/:id"]),
    ("typescript", '@Controller({ path: "/v2/users" })\nexport class A {\n  @Post()\n  add() {}\n}', ["POST /v2/users"]),
    ("java", '@RequestMapping("/api")\nclass A {\n  @GetMapping("/users/{id}")\n  X one() {}\n}', ["GET /api/users/:id"]),
    ("java", '@RequestMapping(value = "/x", method = RequestMethod.POST)\nX one() {}', ["POST /x"]),
    ("java", '@Path("/api")\nclass A {\n  @GET\n  @Path("/users/{id}")\n  public X one() {}\n}', ["GET /api/users/:id"]),
    ("csharp", '[Route("api/[controller]")]\nclass UsersController {\n  [HttpGet("{id}")]\n  X One() {}\n}', ["GET /api/users/:id"]),
    ("csharp", 'app.MapPost("/users", Create);', ["POST /users"]),
    ("ruby", 'Rails.application.routes.draw do\n  get "users/:id", to: "users#show"\nend', ["GET /users/:id"]),
    ("ruby", "Rails.application.routes.draw do\n  resources :users\nend", ["* /users"]),
    ("ruby", "require 'sinatra'\nget '/hi' do\nend", ["GET /hi"]),
    ("php", "Route::get('/users/{id}', [UserController::class, 'show']);", ["GET /users/:id"]),
    ("php", "#[Route('/blog', methods: ['GET'])]\npublic function list() {}", ["GET /blog"]),
    ("go", 'http.HandleFunc("/users", list)', ["* /users"]),
    ("go", 'mux.HandleFunc("GET /users/{id}", s.show)', ["GET /users/:id"]),
    ("go", 'r.HandleFunc("/users", list).Methods("PUT")', ["PUT /users"]),
    ("go", 'r.GET("/users/:id", show)', ["GET /users/:id"]),
    ("go", 'r.Get("/users/{id}", h.show)', ["GET /users/:id"]),
    ("rust", '.route("/users/:id", get(show))', ["GET /users/:id"]),
    ("rust", '.route("/users", web::post().to(create))', ["POST /users"]),
    ("rust", '#[get("/users/<id>")]\nfn show(id: u8) {}', ["GET /users/:id"]),
    ("kotlin", 'routing {\n  get("/users/{id}") { }\n}', ["GET /users/:id"]),
    ("elixir", 'use Web, :router\nget "/users/:id", UserController, :show', ["GET /users/:id"]),
    ("swift", 'import Vapor\napp.get("users", ":id", use: show)', ["GET /users/:id"]),
]

ENDPOINTS = [
    ("python", 'requests.get("https://example.org/users")', ["GET /users"]),
    ("python", 'client.post(f"{base}/users/{user.id}")', ["POST /users/:id"]),
    ("javascript", 'fetch("/api/users")', ["GET /api/users"]),
    ("javascript", 'fetch("/api/users", { method: "POST" })', ["POST /api/users"]),
    ("typescript", "axios.delete(`/users/${id}?now=1`)", ["DELETE /users/:id"]),
    ("go", 'http.Get("https://example.org/ping")', ["GET /ping"]),
    ("go", 'http.NewRequest("PUT", base + "/users", body)', ["PUT /users"]),
    ("csharp", 'client.GetAsync($"/users/{id}")', ["GET /users/:id"]),
    ("ruby", 'HTTParty.get("https://example.org/users")', ["GET /users"]),
    ("rust", 'reqwest::get("https://example.org/users")', ["GET /users"]),
]  # fmt: skip

HANDLERS = [
    ("python", 'urlpatterns = [path("x", views.detail)]', "views.detail"),
    ("python", 'urlpatterns = [path("x", views.Detail.as_view())]', "views.Detail"),
    ("python", 'app.add_url_rule("/x", view_func=show)', "show"),
    ("javascript", "router.get('/x', show)", "show"),
    ("javascript", "router.get('/x', auth.required, users.show)", "users.show"),
    ("go", 'http.HandleFunc("/x", s.list)', "s.list"),
    ("rust", '.route("/x", get(handlers::show))', "handlers.show"),
    ("ruby", 'x.routes.draw do\n  get "x", to: "user_names#show"\nend', "UserNamesController.show"),
    ("ruby", "x.routes.draw do\n  resources :users\nend", "UsersController"),
    ("php", "Route::get('/x', [UserController::class, 'show']);", "UserController.show"),
    ("php", "Route::get('/x', 'UserController@show');", "UserController.show"),
    ("elixir", 'use Web, :router\nget "/x", UserController, :show', "UserController.show"),
]

NOTHING = [
    ("bash", "echo ${HOME}"),
    ("python", 'cache.get("/users")\nsettings.get("name")'),
    ("javascript", "cache.get('/users', fallback)"),
    ("javascript", "map.get('users', auth)\nrouter.get(path, handler)"),
    ("javascript", "const found = /x/.exec('git status')"),
    ("go", 'header.Get("/x")'),
    ("python", 'environ["wsgi.input"]\nos.environ["wsgi.input"]'),
    ("rust", 'clap::Command::new("build")'),
    ("ruby", 'get "users/:id"'),
    ("unknown", 'os.getenv("HOME")'),
]


def names(language: str, source: str, kind: str) -> list[str]:
    return [spot.name for spot in endpoints(source.encode(), language) if spot.kind == kind]


@each(("language", "source", "name"), ENVIRONMENT)
def test_an_environment_variable_is_read(language: str, source: str, name: str) -> None:
    assert names(language, source, "reads_env") == [f"env:{name}"]


@each(("language", "source", "name"), PROCESSES)
def test_a_process_is_started_by_the_name_of_its_program(language: str, source: str, name: str) -> None:
    assert names(language, source, "executes_process") == [f"process:{name}"]


@each(("language", "source", "routes"), ROUTES)
def test_a_route_is_handled(language: str, source: str, routes: list[str]) -> None:
    assert names(language, source, "handles_route") == [f"route:{route}" for route in routes]


@each(("language", "source", "routes"), ENDPOINTS)
def test_an_endpoint_is_asked(language: str, source: str, routes: list[str]) -> None:
    assert names(language, source, "consumes_endpoint") == [f"route:{route}" for route in routes]


@each(("language", "source", "handler"), HANDLERS)
def test_the_handler_that_a_route_names_is_referred_to(language: str, source: str, handler: str) -> None:
    spots = [spot for spot in endpoints(source.encode(), language) if spot.kind == "references"]
    assert handler in [f"{spot.receiver}.{spot.name}".lstrip(".") for spot in spots]


@each(("language", "source"), NOTHING)
def test_what_only_looks_like_it_is_nothing(language: str, source: str) -> None:
    assert endpoints(source.encode(), language) == []


def test_names_taken_out_of_the_environment_together_are_read_each() -> None:
    source = "const { HOST, PORT: port = 1 } = process.env;"
    assert names("javascript", source, "reads_env") == ["env:HOST", "env:PORT"]


@each(
    ("language", "source", "handler"),
    [
        ("python", '@app.get("/x")\ndef show():\n    pass\n', "show"),
        ("typescript", '@Controller("a")\nclass A {\n  @Get("x")\n  show() {}\n}\n', "A.show"),
        ("java", 'class A {\n  @GetMapping("/x")\n  X show() { return null; }\n}\n', "A.show"),
        ("csharp", 'class A {\n  [HttpGet("x")]\n  X Show() { return null; }\n}\n', "A.Show"),
        ("php", "<?php\nclass A {\n  #[Route('/x')]\n  public function show() {}\n}\n", "A.show"),
        ("rust", '#[get("/x")]\nfn show() {}\n', "show"),
    ],
)
def test_a_route_at_its_handler_belongs_to_it(language: str, source: str, handler: str) -> None:
    parsed = parse(source.encode(), language)
    assert [parsed.units[one.unit].qualified_name for one in parsed.references if one.kind == "handles_route"] == [handler]


def test_a_comment_reads_and_runs_nothing() -> None:
    parsed = parse(b'def f():\n    # os.getenv("HOME")\n    pass\n', "python")
    assert [one for one in parsed.references if one.kind == "reads_env"] == []


TRAPS = {
    "signs of equality": b"=" * 1_000_000,
    "dots and letters": b".a" * 500_000,
    "one word": b"a" * 1_000_000,
    "calls without an end": b".get(" * 200_000,
    "calls and spaces": b".get(" + b" " * 500_000 + b"\n" + b".get( " * 80_000,
    "quotes": b"'" * 500_000 + b'"' * 500_000,
    "decorators": b"@a." * 300_000,
    "long decorators": (b"@" + b"a." * 500) * 1_000,
    "routes without an end": b'router.get("/' * 80_000,
    "handlers without an end": b'router.get("/x", a' + b", a" * 300_000,
    "annotations": b"@RequestMapping(@Path(@GET\n#[Route('" * 25_000,
    "environments": b"process.env{}=process.env os.environ[getenv(" * 22_000,
    "parameters": b'app.get("/' + b"{a" * 100 + b'", b)\n' + b'app.get("/(?P<a>(((((((((((((((", b)\n' * 20_000,
    "zeros": b"\0" * 500_000 + b"os.getenv(\0)" * 40_000,
    "no UTF-8": b"\xff\xfe\xc3" * 300_000 + b'os.getenv("\xff")',
}


@each("trap", some(TRAPS))
def test_no_text_takes_more_than_its_length_is_worth(trap: str) -> None:
    slowest = 0.0
    for language in ("python", "javascript", "java", "go", "ruby", "php", "csharp", "rust", "elixir"):
        started = time.thread_time()
        endpoints(TRAPS[trap], language)
        slowest = max(slowest, time.thread_time() - started)
    assert slowest < 3.0  # for a million bytes, whose square would be minutes
