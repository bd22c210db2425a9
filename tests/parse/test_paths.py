"""What a path says by itself: its words, and the part its file plays."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from small_cases import each
from whence.parse import paths
from whence.parse.paths import Role

TEST_FILES = [
    "test_app.py", "app_test.py", "conftest.py", "app_test.go", "AppTest.java", "AppTests.java", "AppIT.java", "AppTestCase.php",
    "AppTest.php", "app.test.ts", "app.spec.ts", "app.test.tsx", "app.spec.js", "app.cy.js", "app_spec.rb", "app_test.rb",
    "spec_helper.rb", "AppSpec.scala", "AppSuite.scala", "AppTest.kt", "AppTests.cs", "AppTests.swift", "app_test.exs", "app_test.dart",
    "app_test.cc", "app_test.c", "app.bats", "app.t", "test_app.lua", "app_spec.lua", "AppSpec.hs", "app_test.zig", "test_app.jl",
    "App.Tests.ps1", "runtests.jl", "app_unittest.cc", "app_unittest.cpp", "app_unittests.py", "app_browsertest.mm", "app_gtest.cpp",
    "test-app.R", "test-app.c", "app-tests.el", "app_SUITE.erl", "app_tests.erl", "app_test.clj", "app_test.gleam", "AppTest.php",
    "app.test.mjs", "app.spec.tsx", "app_test.ml", "AppTests.fs", "AppTest.groovy",
]  # fmt: skip
NOT_TEST_FILES = [
    "app.py",
    "latest.py",
    "contest.go",
    "attestation.ts",
    "Latest.java",
    "protest.rb",
    "inspector.rs",
    "greatest_common.c",
    "unit.kt",
    "test-run.ts",
    "unittest.cc",
    "TestInputTopic.java",
]
TEST_FOLDERS = ["test/a.py", "tests/a.py", "src/__tests__/a.ts", "spec/a.rb", "testing/a.go", "src/test/java/A.java"]


@each("path", TEST_FILES)
def test_a_test_is_known_by_its_name_in_every_language(path: str) -> None:
    assert Role.TEST in paths.roles(path)
    assert Role.TEST in paths.roles(f"lib/deep/{path}")


@each("path", TEST_FOLDERS)
def test_a_test_is_known_by_its_folder(path: str) -> None:
    assert Role.TEST in paths.roles(path)


@each("path", [*NOT_TEST_FILES, "contests/a.py", "latest/a.py", "inspect/a.py"])
def test_a_word_that_only_sounds_like_test_is_none(path: str) -> None:
    assert Role.TEST not in paths.roles(path)


@each(
    ("path", "role"),
    [
        ("lib/compat.py", Role.LEGACY),
        ("lib/_compat.py", Role.LEGACY),
        ("lib/legacy/a.py", Role.LEGACY),
        ("lib/_compat/a.py", Role.COMPAT),
        ("third_party/a.c", Role.COMPAT),
        ("example/a.py", Role.EXAMPLE),
        ("examples/a.py", Role.EXAMPLE),
        ("_examples/a.go", Role.EXAMPLE),
        ("docs_src/a.py", Role.EXAMPLE),
        ("lib/internal/a.go", Role.INTERNAL),
        ("src/win32/a.c", Role.PLATFORM),
        ("include/a.h", Role.HEADER),
        ("include/a.hpp", Role.HEADER),
        ("lib/__init__.py", Role.BARREL),
        ("a/package-info.java", Role.BARREL),
        ("src/index.ts", Role.BARREL),
        ("src/mod.rs", Role.BARREL),
        ("types/a.d.ts", Role.DECLARATION),
    ],
)
def test_a_path_announces_its_role(path: str, role: Role) -> None:
    assert role in paths.roles(path)


@each("path", ["lib/a.py", "src/example.py", "src/indexer.ts", "src/model.rs", "src/initial.py", "src/ads.ts", "src/windowing.c"])
def test_a_plain_file_announces_nothing(path: str) -> None:
    assert paths.roles(path) == Role(0)


def test_one_path_can_announce_several_roles() -> None:
    assert paths.roles("tests/compat/__init__.py") >= Role.TEST | Role.COMPAT | Role.LEGACY | Role.BARREL


@each(
    ("path", "version"),
    [("api/v2/a.py", 2), ("v1/v3/a.py", 3), ("api/a.py", -1), ("v2.py", -1), ("v200/a.py", -1), ("xv2/a.py", -1), ("v3/v1/a.py", 3)],
)
def test_the_version_is_that_of_the_highest_versioned_folder(path: str, version: int) -> None:
    assert paths.version(path) == version


@each(
    ("path", "stem", "parts"),
    [
        ("src/http_client.test.ts", "http_client", ["http", "client"]),
        ("src/HTTPClient.java", "HTTPClient", ["http", "client"]),
        (".eslintrc.js", ".eslintrc.js", ["eslintrc", "js"]),
        ("Makefile", "Makefile", ["makefile"]),
        ("a/b-c d.py", "b-c d", ["b", "c", "d"]),
        ("***/***", "***", []),
        ("lib/größe.py", "größe", ["größe"]),
    ],
)
def test_a_stem_is_the_name_up_to_its_first_dot(path: str, stem: str, parts: list[str]) -> None:
    assert paths.stem(path) == stem
    assert paths.stem_parts(path) == parts


def test_directories_give_their_words_and_the_near_ones_are_the_last_two() -> None:
    path = "packages/web_server/requestHandlers/main.py"
    assert paths.directory_parts(path) == ["packages", "web", "server", "request", "handlers"]
    assert paths.near_directory_parts(path) == ["web", "server", "request", "handlers"]


def test_depth_counts_folders() -> None:
    assert [paths.depth(path) for path in ("a.py", "lib/a.py", "lib/b/a.py")] == [0, 1, 2]


@given(st.text(alphabet=st.characters(exclude_characters="\0"), max_size=100))
def test_any_name_is_read_without_complaint(name: str) -> None:
    assert paths.roles(name) >= Role(0)
    assert all(part == part.lower() and part for part in [*paths.stem_parts(name), *paths.directory_parts(name)])
    assert set(paths.near_directory_parts(name)) <= set(paths.directory_parts(name))


def test_a_name_that_is_not_utf_8_keeps_its_plain_words() -> None:
    assert paths.stem_parts("caf\udce9_menu.py") == ["caf", "menu"]
