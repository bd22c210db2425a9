"""What import statements mean: a table for each language, and what must not go wrong."""

from __future__ import annotations

import json
import time

from hypothesis import given, settings
from hypothesis import strategies as st

from campaigns import examples
from small_cases import each
from whence.graph.builder.imports import ImportResolver
from whence.graph.import_rules import MEMBERS
from whence.parse.languages import language_of
from whence.parse.units import parse

LANGUAGES = "python javascript typescript tsx go rust java kotlin scala csharp ruby php c cpp lua dart elixir swift vue".split()


def bound(language, path, statement, files):
    """The bindings of one statement as plain tuples; `files` are paths, or paths with their texts."""
    texts = files if isinstance(files, dict) else {}
    found = ImportResolver([path, *files], texts.get).bindings(language, path, statement)
    return [(one.local, one.files, one.symbol) for one in found]


def rows(table):
    return each(("path", "statement", "expected"), table)


PYTHON = [
    "src/shop/__init__.py", "src/shop/cart.py", "src/shop/money.py", "src/shop/tax/__init__.py", "src/shop/tax/eu.py", "src/shop/json.py",
    "src/shop/app.py", "tests/support.py", "tools/plain/build.py", "stubs.pyi", "examples/requests.py", "lib/single.py",
]  # fmt: skip


@rows([
    ("tests/test_a.py", "import shop", [("shop", ("src/shop/__init__.py",), "")]),
    ("tests/test_a.py", "import shop as s, os", [("s", ("src/shop/__init__.py",), "")]),
    ("tests/test_a.py", "import shop.tax.eu", [("shop.tax.eu", ("src/shop/tax/eu.py",), ""), ("shop", ("src/shop/__init__.py",), "")]),
    ("tests/test_a.py", "import shop.tax.eu as rules", [("rules", ("src/shop/tax/eu.py",), "")]),
    ("tests/test_a.py", "from shop.cart import Cart, total as t",
     [("Cart", ("src/shop/cart.py",), "Cart"), ("t", ("src/shop/cart.py",), "total")]),
    ("tests/test_a.py", "from shop.cart import ( # noqa: F401 Cart, total, )",
     [("Cart", ("src/shop/cart.py",), "Cart"), ("total", ("src/shop/cart.py",), "total")]),
    ("tests/test_a.py", "from shop import *", [("", ("src/shop/__init__.py",), "")]),
    ("tests/test_a.py", "from shop import Cart", [("Cart", ("src/shop/__init__.py",), "Cart")]),
    ("tests/test_a.py", "from shop import tax", [("tax", ("src/shop/tax/__init__.py",), ""), ("tax", ("src/shop/__init__.py",), "tax")]),
    ("tests/test_a.py", "from support import one", [("one", ("tests/support.py",), "one")]),
    ("src/shop/cart.py", "from .money import Price", [("Price", ("src/shop/money.py",), "Price")]),
    ("src/shop/tax/eu.py", "from ..money import Price", [("Price", ("src/shop/money.py",), "Price")]),
    ("src/shop/tax/eu.py", "from . import Rate", [("Rate", ("src/shop/tax/__init__.py",), "Rate")]),
    ("src/shop/tax/eu.py", "from .. import cart", [("cart", ("src/shop/cart.py",), ""), ("cart", ("src/shop/__init__.py",), "cart")]),
    ("src/shop/tax/eu.py", "from ....... import cart", []),
    ("src/shop/__init__.py", "from . import cart", [("cart", ("src/shop/cart.py",), "")]),
    ("run.py", "from plain.build import main", [("main", ("tools/plain/build.py",), "main")]),
    ("run.py", "from tools.plain import build", [("build", ("tools/plain/build.py",), "")]),
    ("run.py", "import stubs", [("stubs", ("stubs.pyi",), "")]),
    ("run.py", "import single", [("single", ("lib/single.py",), "")]),
    ("src/shop/cart.py", "import money", [("money", ("src/shop/money.py",), "")]),
    ("src/shop/cart.py", "import json", []),
    ("src/shop/cart.py", "import requests", []),
    ("src/shop/cart.py", "from __future__ import annotations", []),
])  # fmt: skip
def test_python_finds_modules_by_package_root_and_by_relation(path, statement, expected):
    assert bound("python", path, statement, PYTHON) == expected


def test_python_takes_the_package_that_is_nearest():
    files = ["one/pkg/__init__.py", "two/pkg/__init__.py"]
    assert bound("python", "two/tests/test_a.py", "import pkg", files) == [("pkg", ("two/pkg/__init__.py",), "")]


SCRIPT = {
    "package.json": '{"name": "root", "imports": {"#db": "./server/db.js"}}',
    "tsconfig.base.json": """{
        // aliases of all packages
        "compilerOptions": {"baseUrl": ".", "paths": {"~/*": ["web/src/*", "missing/*"], "~/special/*": ["other/*"], },},
    }""",
    "web/tsconfig.json": '{"extends": "../tsconfig.base", "compilerOptions": {"strict": true}}',
    "web/src/app.tsx": "", "web/src/cart.ts": "", "web/src/styles.css": "", "web/src/lib/index.ts": "", "web/src/types.d.ts": "",
    "web/src/Box.vue": "", "web/src/esm.mts": "", "other/thing.ts": "", "server/db.ts": "", "server/old.js": "",
    "packages/ui/package.json": '{"name": "@org/ui", "main": "dist/index.js", "exports": {".": {"import": "./dist/index.js"}, "./theme": "./dist/look/theme.js"}}',
    "packages/ui/src/index.ts": "", "packages/ui/src/look/theme.ts": "", "packages/ui/src/Button.tsx": "",
    "packages/plain/package.json": '{"name": "plain"}', "packages/plain/index.js": "", "packages/plain/deep/one.js": "",
}  # fmt: skip


@rows([
    ("web/src/app.tsx", 'import { a, b as c, type D } from "./cart";',
     [("a", ("web/src/cart.ts",), "a"), ("c", ("web/src/cart.ts",), "b"), ("D", ("web/src/cart.ts",), "D")]),
    ("web/src/app.tsx", 'import Cart from "./cart"', [("Cart", ("web/src/cart.ts",), "default"), ("Cart", ("web/src/cart.ts",), "Cart")]),
    ("web/src/app.tsx", 'import Cart, { total } from "./cart.js"',
     [("Cart", ("web/src/cart.ts",), "default"), ("Cart", ("web/src/cart.ts",), "Cart"), ("total", ("web/src/cart.ts",), "total")]),
    ("web/src/app.tsx", "import * as cart from './cart'", [("cart", ("web/src/cart.ts",), "")]),
    ("web/src/app.tsx", "import type { Cart } from './cart'", [("Cart", ("web/src/cart.ts",), "Cart")]),
    ("web/src/app.tsx", "import type Cart from './cart'",
     [("Cart", ("web/src/cart.ts",), "default"), ("Cart", ("web/src/cart.ts",), "Cart")]),
    ("web/src/app.tsx", 'import "./styles.css";', [("", ("web/src/styles.css",), "")]),
    ("web/src/app.tsx", 'import data from "./cart" with { type: "json" }',
     [("data", ("web/src/cart.ts",), "default"), ("data", ("web/src/cart.ts",), "data")]),
    ("web/src/app.tsx", "import Box from './Box.vue'", [("Box", ("web/src/Box.vue",), "")]),
    ("web/src/app.tsx", "import { x } from './lib'", [("x", ("web/src/lib/index.ts",), "x")]),
    ("web/src/lib/index.ts", "import { x } from '..'", []),
    ("web/src/lib/index.ts", "import { x } from '../esm.mjs'", [("x", ("web/src/esm.mts",), "x")]),
    ("web/src/app.tsx", "import { /* old, */ x, // why y } from './types'", [("x", ("web/src/types.d.ts",), "x"), ("y", ("web/src/types.d.ts",), "y")]),
    ("web/src/app.tsx", 'export * from "./cart"', [("", ("web/src/cart.ts",), "")]),
    ("web/src/app.tsx", 'export * as all from "./cart"', [("all", ("web/src/cart.ts",), "")]),
    ("web/src/app.tsx", 'export { a as b } from "./cart"', [("b", ("web/src/cart.ts",), "a")]),
    ("web/src/app.tsx", 'export { default as Cart } from "./cart"',
     [("Cart", ("web/src/cart.ts",), "default"), ("Cart", ("web/src/cart.ts",), "Cart")]),
    ("web/src/app.tsx", 'import { a } from "~/cart"', [("a", ("web/src/cart.ts",), "a")]),
    ("web/src/app.tsx", 'import { a } from "~/special/thing"', [("a", ("other/thing.ts",), "a")]),
    ("web/src/app.tsx", 'import { a } from "server/db"', [("a", ("server/db.ts",), "a")]),
    ("web/src/app.tsx", 'import { Button } from "@org/ui"', [("Button", ("packages/ui/src/index.ts",), "Button")]),
    ("web/src/app.tsx", 'import { Button } from "@org/ui/Button"', [("Button", ("packages/ui/src/Button.tsx",), "Button")]),
    ("web/src/app.tsx", 'import { dark } from "@org/ui/theme"', [("dark", ("packages/ui/src/look/theme.ts",), "dark")]),
    ("server/old.js", "const plain = require('plain')",
     [("plain", ("packages/plain/index.js",), ""), ("plain", ("packages/plain/index.js",), "plain")]),
    ("server/old.js", "const { a, b: c, d = 1 } = require('plain/deep/one')",
     [("a", ("packages/plain/deep/one.js",), "a"), ("c", ("packages/plain/deep/one.js",), "b"), ("d", ("packages/plain/deep/one.js",), "d")]),
    ("server/db.ts", "const old = require('./old').connect", [("old", ("server/old.js",), "connect")]),
    ("server/db.ts", "import old = require('./old')", [("old", ("server/old.js",), ""), ("old", ("server/old.js",), "old")]),
    ("server/db.ts", "require('./old')", [("", ("server/old.js",), "")]),
    ("server/db.ts", "const Old = lazy(() => import('./old'))", [("Old", ("server/old.js",), ""), ("Old", ("server/old.js",), "Old")]),
    ("server/old.js", 'import { query } from "#db"', [("query", ("server/db.ts",), "query")]),
    ("web/src/app.tsx", 'import React from "react"', []),
    ("web/src/app.tsx", 'import { x } from "../../../outside"', []),
])  # fmt: skip
def test_scripts_find_modules_by_path_alias_and_workspace(path, statement, expected):
    assert bound("typescript", path, statement, SCRIPT) == expected


GO = {
    "go.mod": "// the module\nmodule example.org/shop/v2\n\ngo 1.22\n", "main.go": "", "cart/cart.go": "", "cart/total.go": "",
    "cart/cart_test.go": "", "tools/go.mod": "module example.org/tools", "tools/go-lint/lint.go": "", "vendor/example.com/dep/dep.go": "",
}  # fmt: skip


@rows([
    ("main.go", '"example.org/shop/v2/cart"', [("cart", ("cart/cart.go", "cart/total.go"), "")]),
    ("main.go", 'c "example.org/shop/v2/cart"', [("c", ("cart/cart.go", "cart/total.go"), "")]),
    ("main.go", '. "example.org/shop/v2/cart"', [("", ("cart/cart.go", "cart/total.go"), "")]),
    ("main.go", '_ "example.org/shop/v2/cart"', [("_", ("cart/cart.go", "cart/total.go"), "")]),
    ("cart/cart.go", '"example.org/shop/v2"', [("shop", ("main.go",), "")]),
    ("cart/total.go", 'import "example.org/tools/go-lint"', [("lint", ("tools/go-lint/lint.go",), "")]),
    ("main.go", '"example.com/dep"', [("dep", ("vendor/example.com/dep/dep.go",), "")]),
    ("main.go", '"fmt"', []),
    ("main.go", '"example.org/shop/v2/missing"', []),
])  # fmt: skip
def test_go_finds_the_folder_of_a_package(path, statement, expected):
    assert bound("go", path, statement, GO) == expected


RUST = {
    "Cargo.toml": '[workspace]\nmembers = ["crates/*"]\n', "crates/core-lib/Cargo.toml": '[package]\nname = "core-lib"\nversion = "1"\n',
    "crates/core-lib/src/lib.rs": "", "crates/core-lib/src/money.rs": "", "crates/core-lib/src/tax/mod.rs": "",
    "crates/core-lib/src/tax/eu.rs": "", "crates/core-lib/tests/whole.rs": "", "crates/core-lib/tests/common/mod.rs": "",
    "crates/app/Cargo.toml": '[package]\nname = "app"\n\n[lib]\nname = "application"\npath = "lib/root.rs"\n',
    "crates/app/lib/root.rs": "", "crates/app/src/main.rs": "", "crates/app/src/view.rs": "", "fakes/std/Cargo.toml": '[package]\nname = "std"',
    "fakes/std/src/lib.rs": "", "tests/fixtures/made-up/Cargo.toml": '[package]\nname = "made-up"', "tests/fixtures/made-up/src/lib.rs": "",
}  # fmt: skip
LIB = "crates/core-lib/src/"


@rows([
    (LIB + "lib.rs", "mod money;", [("money", (LIB + "money.rs",), "")]),
    (LIB + "lib.rs", "pub mod tax;", [("tax", (LIB + "tax/mod.rs",), "")]),
    (LIB + "tax/mod.rs", "pub(crate) mod eu;", [("eu", (LIB + "tax/eu.rs",), "")]),
    (LIB + "tax/eu.rs", "use crate::money::Price;", [("Price", (LIB + "money.rs",), "Price")]),
    (LIB + "tax/eu.rs", "pub(in crate::tax) use crate::{money::{self, Price as P, cents::*}, tax};",
     [("money", (LIB + "money.rs",), ""), ("P", (LIB + "money.rs",), "Price"), ("", (LIB + "money.rs",), ""), ("tax", (LIB + "tax/mod.rs",), "")]),
    (LIB + "tax/eu.rs", "use super::Rate;", [("Rate", (LIB + "tax/mod.rs",), "Rate")]),
    (LIB + "tax/eu.rs", "use super::super::money;", [("money", (LIB + "money.rs",), "")]),
    (LIB + "tax/mod.rs", "use self::eu::Rate;", [("Rate", (LIB + "tax/eu.rs",), "Rate")]),
    (LIB + "tax/mod.rs", "pub use eu::Rate as Percent;", [("Percent", (LIB + "tax/eu.rs",), "Rate")]),
    (LIB + "money.rs", "use super::*;", [("", (LIB + "lib.rs",), "")]),
    (LIB + "money.rs", "use crate::Shop;", [("Shop", (LIB + "lib.rs",), "Shop")]),
    (LIB + "money.rs", "use crate::tax::Kind::Reduced;", [("Reduced", (LIB + "tax/mod.rs",), "Reduced")]),
    ("crates/core-lib/tests/whole.rs", "use core_lib::tax::eu::Rate;", [("Rate", (LIB + "tax/eu.rs",), "Rate")]),
    ("crates/core-lib/tests/whole.rs", "mod common;", [("common", ("crates/core-lib/tests/common/mod.rs",), "")]),
    ("crates/core-lib/tests/whole.rs", "use crate::common::run;", [("run", ("crates/core-lib/tests/common/mod.rs",), "run")]),
    ("crates/app/src/main.rs", "extern crate core_lib as lib;", [("lib", (LIB + "lib.rs",), "")]),
    ("crates/app/src/main.rs", "use application::Page;", [("Page", ("crates/app/lib/root.rs",), "Page")]),
    ("crates/app/src/main.rs", "use r#view::Page;", [("Page", ("crates/app/src/view.rs",), "Page")]),
    ("crates/app/src/main.rs", "use std::collections::HashMap;", []),
    ("crates/app/src/main.rs", "use serde::{Serialize, Deserialize};", []),
    ("crates/app/src/main.rs", "use made_up::Thing;", []),
    ("tests/fixtures/user/src/lib.rs", "use made_up::Thing;", [("Thing", ("tests/fixtures/made-up/src/lib.rs",), "Thing")]),
])  # fmt: skip
def test_rust_follows_modules_and_crates(path, statement, expected):
    assert bound("rust", path, statement, RUST) == expected


JVM = [
    "a/src/main/java/org/shop/cart/Cart.java", "a/src/main/java/org/shop/cart/Total.java", "b/src/main/kotlin/org/shop/money/Money.kt",
    "b/src/main/kotlin/org/shop/money/format.kt", "c/src/main/scala/org/shop/tax/Tax.scala", "d/src/main/java/util/Strings.java",
    "e/src/main/java/shop/cart/Cart.java", "f/src/main/kotlin/view/Page.kt",
]  # fmt: skip
MONEY = ("b/src/main/kotlin/org/shop/money/Money.kt", "b/src/main/kotlin/org/shop/money/format.kt")


@rows([
    ("x/A.java", "import org.shop.cart.Cart;", [("Cart", (JVM[0],), "Cart")]),
    ("x/A.java", "import org.shop.cart.*;", [("", (JVM[0], JVM[1]), "")]),
    ("x/A.java", "import static org.shop.cart.Cart.total;", [("total", (JVM[0],), "total")]),
    ("x/A.java", "import static org.shop.cart.Cart.*;", [("", (JVM[0],), MEMBERS)]),
    ("x/A.java", "import org.shop.cart.Cart.Line;", [("Line", (JVM[0],), "Line")]),
    ("x/A.java", "import shop.cart.Cart;", [("Cart", (JVM[6],), "Cart")]),
    ("x/A.java", "import org.shop.cart.Generated;", []),
    ("x/A.java", "import java.util.List;", []),
    ("x/A.java", "import java.util.*;", []),
    ("x/A.java", "import util.Strings;", [("Strings", (JVM[5],), "Strings")]),
    ("x/A.kt", "import org.shop.money.Money", [("Money", (MONEY[0],), "Money")]),
    ("x/A.kt", "import org.shop.money.inEuros as euros", [("euros", MONEY, "inEuros")]),
    ("x/A.kt", "import org.shop.money.*", [("", MONEY, "")]),
    ("x/A.kt", "import org.shop.view.Page", [("Page", (JVM[7],), "Page")]),
    ("x/A.kt", "import kotlin.view.Page", []),
    ("x/A.kt", "import org.other.format.Price", []),
    ("x/A.scala", "import org.shop.cart.{Cart, Total => Sum, _}",
     [("Cart", (JVM[0],), "Cart"), ("Sum", (JVM[1],), "Total"), ("", (JVM[0], JVM[1]), "")]),
    ("x/A.scala", "import org.shop.tax.Tax, org.shop.cart.Cart", [("Tax", (JVM[4],), "Tax"), ("Cart", (JVM[0],), "Cart")]),
    ("x/A.scala", "import org.shop.tax.Tax.{rate as r}", [("r", (JVM[4],), "rate")]),
    ("x/A.scala", "import org.shop.tax", [("tax", (JVM[4],), "")]),
])  # fmt: skip
def test_java_kotlin_and_scala_find_packages_in_any_source_root(path, statement, expected):
    assert bound(language_of(path).name, path, statement, JVM) == expected


CSHARP = [
    "src/Shop.Core/Shop.Core.csproj", "src/Shop.Core/Cart.cs", "src/Shop.Core/Tax/Rate.cs", "src/Shop.Core/Tax/Kind.cs",
    "src/Web/Company.Web.csproj", "src/Web/Models/Page.cs", "src/Web/Text/Words.cs",
]  # fmt: skip


@rows([
    ("x/A.cs", "using Shop.Core;", [("", ("src/Shop.Core/Cart.cs",), "")]),
    ("x/A.cs", "using Shop.Core.Tax;", [("", ("src/Shop.Core/Tax/Kind.cs", "src/Shop.Core/Tax/Rate.cs"), "")]),
    ("x/A.cs", "global using Shop.Core;", [("", ("src/Shop.Core/Cart.cs",), "")]),
    ("x/A.cs", "using Rate = Shop.Core.Tax.Rate;", [("Rate", ("src/Shop.Core/Tax/Rate.cs",), "Rate")]),
    ("x/A.cs", "using T = Shop.Core.Tax;", [("T", ("src/Shop.Core/Tax/Kind.cs", "src/Shop.Core/Tax/Rate.cs"), "")]),
    ("x/A.cs", "using Inner = Shop.Core.Tax.Unknown;", [("Inner", ("src/Shop.Core/Tax/Kind.cs", "src/Shop.Core/Tax/Rate.cs"), "Unknown")]),
    ("x/A.cs", "using static Shop.Core.Tax.Rate;", [("", ("src/Shop.Core/Tax/Rate.cs",), MEMBERS)]),
    ("x/A.cs", "using Company.Models;", [("", ("src/Web/Models/Page.cs",), "")]),
    ("x/A.cs", "using System.Text;", []),
    ("x/A.cs", "using Vendor.Models;", []),
    ("x/A.cs", "using Rows = System.Collections.Generic.List<Shop.Core.Tax.Rate>;", []),
])  # fmt: skip
def test_csharp_finds_the_folders_of_a_namespace(path, statement, expected):
    assert bound("csharp", path, statement, CSHARP) == expected


RUBY = ["lib/shop.rb", "lib/shop/cart.rb", "lib/shop/tax.rb", "test/helper.rb", "vendor/x/json.rb", "engines/pay/app/models/pay/card.rb"]


@rows([
    ("lib/shop.rb", 'require "shop/cart"', [("", ("lib/shop/cart.rb",), "")]),
    ("test/a_test.rb", "require 'helper'", [("", ("test/helper.rb",), "")]),
    ("bin/run", 'require("shop")', [("", ("lib/shop.rb",), "")]),
    ("lib/shop/cart.rb", 'require_relative "tax"', [("", ("lib/shop/tax.rb",), "")]),
    ("lib/shop/cart.rb", 'require_relative "../shop"', [("", ("lib/shop.rb",), "")]),
    ("lib/shop.rb", 'autoload :Cart, "shop/cart"', [("Cart", ("lib/shop/cart.rb",), "Cart")]),
    ("lib/shop.rb", 'require_dependency "pay/card"', [("", ("engines/pay/app/models/pay/card.rb",), "")]),
    ("lib/shop.rb", 'load "shop/tax.rb"', [("", ("lib/shop/tax.rb",), "")]),
    ("lib/shop.rb", 'require "json"', []),
    ("lib/shop.rb", 'require_relative "../../outside"', []),
])  # fmt: skip
def test_ruby_finds_what_is_required(path, statement, expected):
    assert bound("ruby", path, statement, RUBY) == expected


PHP = {
    "composer.json": json.dumps({"autoload": {"psr-4": {"Shop\\": "src/", "Shop\\Tax\\": ["tax/lib"]}}, "autoload-dev": {"psr-4": {"Tests\\": "tests"}}}),
    "src/Cart.php": "", "src/Money/Price.php": "", "src/Money/functions.php": "", "tax/lib/Rate.php": "", "tests/CartTest.php": "", "boot.php": "",
}  # fmt: skip
MONEY_PHP = ("src/Money/Price.php", "src/Money/functions.php")


@rows([
    ("a/b.php", r"use Shop\Cart;", [("Cart", ("src/Cart.php",), "Cart")]),
    ("a/b.php", r"use \Shop\Cart as Basket, Tests\CartTest;", [("Basket", ("src/Cart.php",), "Cart"), ("CartTest", ("tests/CartTest.php",), "CartTest")]),
    ("a/b.php", r"use Shop\{Cart, Money\Price as P};", [("Cart", ("src/Cart.php",), "Cart"), ("P", ("src/Money/Price.php",), "Price")]),
    ("a/b.php", r"use Shop\Tax\Rate;", [("Rate", ("tax/lib/Rate.php",), "Rate")]),
    ("a/b.php", r"use Shop\Money;", [("Money", MONEY_PHP, "")]),
    ("a/b.php", r"use function Shop\Money\inEuros;", [("inEuros", MONEY_PHP, "inEuros")]),
    ("a/b.php", r"use Shop\Money\{Price, function inEuros};", [("Price", ("src/Money/Price.php",), "Price"), ("inEuros", MONEY_PHP, "inEuros")]),
    ("a/b.php", r"use Vendor\Money\Price;", []),
    ("a/b.php", r"use Exception;", []),
    ("src/Cart.php", "require __DIR__ . '/Money/functions.php'", [("", ("src/Money/functions.php",), "")]),
    ("src/Cart.php", "require_once dirname(__DIR__) . '/boot.php'", [("", ("boot.php",), "")]),
    ("src/Cart.php", "include dirname(__FILE__) . '/Money/Price.php'", [("", ("src/Money/Price.php",), "")]),
    ("src/Cart.php", "require $path", []),
])  # fmt: skip
def test_php_follows_composer_and_paths(path, statement, expected):
    assert bound("php", path, statement, PHP) == expected


def test_php_without_composer_goes_by_the_end_of_the_path():
    assert bound("php", "b.php", r"use Any\Money\Price;", ["lib/Money/Price.php"]) == [("Price", ("lib/Money/Price.php",), "Price")]


C = [
    "include/shop/cart.h",
    "src/cart.c",
    "src/tax.h",
    "src/tax.cc",
    "src/tax_test.cc",
    "lib/util.h",
    "lib/util.c",
    "other/util.h",
    "compat/sys/time.h",
]


@rows([
    ("src/main.c", '#include "tax.h"', [("", ("src/tax.h", "src/tax.cc"), "")]),
    ("src/tax.cc", '#include "tax.h"', [("", ("src/tax.h",), "")]),
    ("src/main.c", '#include "shop/cart.h"', [("", ("include/shop/cart.h",), "")]),
    ("src/main.c", "# include <shop/cart.h>", [("", ("include/shop/cart.h",), "")]),
    ("other/deep/a.c", '#include "util.h"', [("", ("other/util.h",), "")]),
    ("src/main.c", '#include "../lib/util.h"', [("", ("lib/util.h", "lib/util.c"), "")]),
    ("src/main.c", "#include <sys/time.h>", []),
    ("src/main.c", "#include <stdio.h>", []),
    ("src/main.c", "#include HEADER", []),
    ("src/main.c", "using std::string;", []),
])  # fmt: skip
def test_c_finds_headers_and_the_sources_beside_them(path, statement, expected):
    assert bound("cpp", path, statement, C) == expected


OTHERS = {
    "lua/shop/cart.lua": "", "lua/shop/init.lua": "", "pubspec.yaml": "name: shop\nversion: 1.0.0\n", "lib/cart.dart": "", "lib/tax.dart": "",
    "lib/shop_web/cart_live.ex": "", "lib/shop/http_client.ex": "", "lib/shop/logger.ex": "", "Sources/Shop/Cart.swift": "",
    "Sources/Shop/Tax/Rate.swift": "",
}  # fmt: skip


@rows([
    ("lua/a.lua", 'require("shop.cart")', [("cart", ("lua/shop/cart.lua",), "")]),
    ("lua/a.lua", 'require "shop"', [("shop", ("lua/shop/init.lua",), "")]),
    ("lib/main.dart", "import 'package:shop/cart.dart';", [("", ("lib/cart.dart",), "")]),
    ("lib/main.dart", "import 'cart.dart' as cart;", [("cart", ("lib/cart.dart",), "")]),
    ("lib/main.dart", "export 'tax.dart' show Rate, Kind;", [("Rate", ("lib/tax.dart",), "Rate"), ("Kind", ("lib/tax.dart",), "Kind")]),
    ("lib/main.dart", "import 'dart:io';", []),
    ("lib/a.ex", "alias ShopWeb.CartLive", [("CartLive", ("lib/shop_web/cart_live.ex",), "")]),
    ("lib/a.ex", "alias Shop.HTTPClient, as: Client", [("Client", ("lib/shop/http_client.ex",), "")]),
    ("lib/a.ex", "alias Shop.{HTTPClient, Missing}", [("HTTPClient", ("lib/shop/http_client.ex",), "")]),
    ("lib/a.ex", "import Shop.HTTPClient, only: [get: 1]", [("", ("lib/shop/http_client.ex",), "")]),
    ("lib/a.ex", "require Logger", []),
    ("Tests/A.swift", "@testable import Shop", [("", ("Sources/Shop/Cart.swift", "Sources/Shop/Tax/Rate.swift"), "")]),
    ("Tests/A.swift", "import Foundation", []),
])  # fmt: skip
def test_lua_dart_elixir_and_swift_find_files(path, statement, expected):
    assert bound(language_of(path).name, path, statement, OTHERS) == expected


def test_statements_resolve_as_the_parser_gives_them(tmp_path):
    sources = {
        "pkg/__init__.py": "", "pkg/a.py": "def one(): ...\n", "use.py": "from pkg.a import (\n    one,\n)\n",
        "web/a.ts": "export const one = 1\n", "web/use.ts": 'import {\n  one,\n} from "./a";\n',
        "src/lib.rs": "mod a;\n", "src/a.rs": "pub fn one() {}\n", "src/use_it.rs": "use crate::a::{\n    one,\n};\n",
        "lib/a.rb": "", "lib/use.rb": 'require_relative "a"\n', "c/a.h": "", "c/use.c": '#include "a.h"\n',
        "go.mod": "module m\n", "g/a.go": "package g\n", "use.go": 'package main\n\nimport (\n\tx "m/g"\n)\n',
    }  # fmt: skip
    for path, text in sources.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    imports = ImportResolver(list(sources), lambda path: (tmp_path / path).read_text())
    found = {}
    for path in sources:
        for statement in parse((tmp_path / path).read_bytes(), language_of(path).name).imports:
            found[path] = [(one.local, one.files, one.symbol) for one in imports.bindings(language_of(path).name, path, statement)]
    assert found == {
        "use.py": [("one", ("pkg/a.py",), "one")],
        "web/use.ts": [("one", ("web/a.ts",), "one")],
        "src/lib.rs": [("a", ("src/a.rs",), "")],
        "src/use_it.rs": [("one", ("src/a.rs",), "one")],
        "lib/use.rb": [("", ("lib/a.rb",), "")],
        "c/use.c": [("", ("c/a.h",), "")],
        "use.go": [("x", ("g/a.go",), "")],
    }


def test_a_language_without_a_rule_binds_nothing():
    assert bound("sql", "a.sql", "CREATE EXTENSION citext", ["citext.sql"]) == []


def test_configuration_is_read_when_it_is_needed_and_once():
    asked = []

    def read(path):
        asked.append(path)
        return SCRIPT[path]

    imports = ImportResolver(list(SCRIPT), read)
    imports.bindings("typescript", "web/src/app.tsx", 'import { a } from "./cart"')
    assert asked == []
    for number in range(5):
        imports.bindings("typescript", f"web/src/{number}/app.tsx", f'import {{ a{number} }} from "@org/ui"')
    assert len(asked) == len(set(asked)) > 2


@each(
    "text",
    [
        '{"extends": "./tsconfig.json"}', '{"extends": ["./b.json", 3, null]}', '{"extends": "../../../../etc/passwd"}', "{", "[]", "null", "[" * 100_000,
        '{"compilerOptions": {"paths": {"~/*": "src"}}}', '{"compilerOptions": {"paths": 3, "baseUrl": []}}', '{"compilerOptions": 1}',
        "/*" * 50_000, '{"' * 50_000, '"' + "\\" * 99_999, ", " * 50_000, None,
    ],
)  # fmt: skip
def test_broken_or_cyclic_configuration_is_as_good_as_none(text):
    texts = {
        "tsconfig.json": text,
        "b.json": '{"extends": "./tsconfig.json"}',
        "src/cart.ts": "",
        "package.json": text,
        "composer.json": text,
    }
    begun = time.process_time()
    imports = ImportResolver([*texts, "src/a.ts"], texts.get)
    assert imports.bindings("typescript", "src/a.ts", 'import { x } from "~/cart"') == ()
    assert len(imports.bindings("typescript", "src/a.ts", 'import { x } from "./cart"')) == 1
    assert imports.bindings("php", "a.php", r"use A\B;") == ()
    assert time.process_time() - begun < 2


HEADS = {
    "python": ["import ", "from . import ", "from a"], "go": ['"', 'a "'], "rust": ["use ", "pub use a::{", "pub(", "mod "],
    "java": ["import ", "import static a.b."], "kotlin": ["import a.b."], "scala": ["import a.b.{", "import "], "csharp": ["using ", "using X = "],
    "ruby": ["require '", "autoload :A, '"], "php": ["use ", "use A\\{", "require '"], "c": ['#include "../', "#include <"], "lua": ["require '"],
    "dart": ["import 'a' ", "import 'package:"], "elixir": ["alias ", "alias A.{"], "swift": ["import "],
    "typescript": ["import ", "import {", "export * from ", "const {a} = require(", "const x = import("],
}  # fmt: skip
PIECES = [
    "a", "a.", "a::{", "{", "}", " ", '"', "'a", "from ", "require('", "../", "a\\", "//", "/*", "=", "a, ", "\x00", "A.", "show a ", "[", "*",
]  # fmt: skip
WORDS = ["pkg", "cart", "crate", "super", "self", "as", "static", ";", ")", "(", ",", "::", ".", "./", "from '", "mod ", "é", "\n", "/"]
STATEMENT_PARTS = st.sampled_from([*(head for heads in HEADS.values() for head in heads), *PIECES, *WORDS])


@each("language", HEADS)
def test_a_hostile_statement_is_quick(language):
    texts = {
        "Cargo.toml": "[package]\n" + "[" * 90_000,
        "go.mod": "module " * 10_000,
        "src/lib.rs": "",
        "src/a.rs": "",
        "a/a/__init__.py": "",
        "a.h": "",
    }
    imports = ImportResolver(list(texts), texts.get)
    for head in HEADS[language]:
        for piece in PIECES:
            begun = time.process_time()
            imports.bindings(language, "a/b.x", head + piece * (100_000 // len(piece)))
            assert time.process_time() - begun < 1, (head, piece)


@settings(max_examples=examples(400), deadline=None)
@given(st.sampled_from(LANGUAGES), st.lists(STATEMENT_PARTS, max_size=12).map("".join))
def test_any_statement_leads_to_other_files_of_the_repository_or_nowhere(language, statement):
    files = [*PYTHON, *SCRIPT, *RUST, *JVM, *CSHARP, *RUBY, *C, *OTHERS]
    here = "src/shop/cart.py"
    for binding in ImportResolver(files, {**SCRIPT, **RUST}.get).bindings(language, here, statement):
        assert binding.files
        assert set(binding.files) <= set(files) - {here}


def test_sixty_thousand_statements_take_little_time():
    folders = [f"m{a}/src/main/java/org/shop/p{b}" for a in range(20) for b in range(30)]
    paths = [f"{folder}/C{number}.java" for folder in folders for number in range(5)]
    statements = [f"import org.shop.p{number % 30}.C{number % 5};" for number in range(20)] + ["import java.util.List;"]
    python = [f"pkg{a}/sub{b}/{name}.py" for a in range(40) for b in range(10) for name in ("__init__", "one", "two")]
    python += [f"pkg{a}/__init__.py" for a in range(40)]
    imports = ImportResolver(paths + python, lambda _: None)
    begun = time.process_time()
    found = 0
    for path in paths[:2000]:
        found += sum(len(imports.bindings("java", path, statement)) for statement in statements)
    for path in python:
        for number in range(16):
            found += len(imports.bindings("python", path, f"from pkg{number}.sub{number % 10}.one import name{number}"))
    assert found > 55_000
    assert time.process_time() - begun < 4


def test_a_name_that_thousands_of_files_bear_is_still_found_quickly():
    paths = [f"f{number}/inner/{name}" for number in range(3000) for name in ("config.h", "settings.py", "main.c")]
    imports = ImportResolver(paths, lambda _: None)
    begun = time.process_time()
    for number in range(0, 3000, 3):
        assert imports.bindings("c", f"f{number}/other/main.c", '#include "config.h"')[0].files == (f"f{number}/inner/config.h",)
        assert imports.bindings("python", f"f{number}/inner/main.py", "import settings")[0].files == (f"f{number}/inner/settings.py",)
        assert imports.bindings("python", f"f{number}/other/main.py", "import settings") == ()
    assert time.process_time() - begun < 5
