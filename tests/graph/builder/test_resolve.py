"""What names stand for: for each language a small tree with every call and every kinship a person would draw, and no other."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from campaigns import examples
from graph.graph_edges import edges_of, opened, told
from whence import Index
from whence.graph.builder.resolve import MAX_BY_NAME, MAX_TYPES_BY_NAME, builtin_names

#: Language -> (the tree, its calls and kinship). What is not listed must not be there.
TREES: dict[str, tuple[str, str]] = {}

TREES["python"] = (
    """\
--- shop/__init__.py
from .money import Price as Worth
from .deep import *
--- shop/deep.py
def dive(depth):
    return depth
--- shop/money.py
class Price:
    def plus(self, other):
        return self.rounded()

    def rounded(self):
        return self

    def get(self):
        return 1


def total(prices):
    return sum(prices)
--- shop/cart.py
import requests
from requests import send
from shop import money as m
from shop.money import Price, total as add_up
from . import stock


class Cart(stock.Cart):
    def add(self, item):
        self.count(item)
        self.items.append(item)
        return super().add(item)

    def worth(self, first: Price, send):
        made = Price()
        made.plus(first)
        first.rounded()
        send(made)
        return add_up([m.total([])])

    def load(self, mystery, base):
        requests.get("x")
        requests.settle()
        mystery.get()
        mystery.items()
        mystery.settle()
        base.add()
        print(list(map(str, [])))
        return send(mystery)
--- shop/stock.py
class Cart:
    def add(self, item):
        return item

    def count(self, item):
        return 1

    def settle(self):
        return total([])

    def items(self):
        return []

    def append(self, item):
        return self

    def print(self):
        return self


def total(items):
    return len(items)


def send(thing):
    return thing
--- web/send.js
export function send() { return total() }
export function total() { return 1 }
--- app/main.py
import shop
from shop import Worth, dive


def main():
    Worth().rounded()
    shop.dive(1)
    return dive(2)
""",
    """\
cart.py#Cart extends stock.py#Cart
cart.py#Cart.add calls stock.py#Cart.add
cart.py#Cart.add calls stock.py#Cart.count
cart.py#Cart.add overrides stock.py#Cart.add
cart.py#Cart.load calls stock.py#Cart.settle 0.42
cart.py#Cart.worth calls money.py#Price
cart.py#Cart.worth calls money.py#Price.plus
cart.py#Cart.worth calls money.py#Price.rounded
cart.py#Cart.worth calls money.py#total
main.py#main calls deep.py#dive
main.py#main calls money.py#Price
main.py#main calls money.py#Price.rounded
money.py#Price.plus calls money.py#Price.rounded
send.js#send calls send.js#total
stock.py#Cart.settle calls stock.py#total
""",
)

TREES["typescript"] = (
    """\
--- src/money.ts
export class Price {
  rounded(): Price { return this }
  plus(other: Price): Price { return this.rounded() }
  map(f: any) { return f }
}
export function total(prices: Price[]): number { return prices.length }
export default function makePrice() { return new Price() }
--- src/stock.ts
export interface Store { save(item: string): void; load(): string }
export abstract class BaseCart {
  count(): number { return 1 }
  push(item: string) { return item }
}
export function total(x: number) { return x }
export function send(x: string) { return x }
--- src/index.ts
export { BaseCart, total as sum } from './stock'
export * from './money'
--- src/cart.ts
import makePrice, { Price, total as addUp } from './money'
import * as stock from './stock'
import { BaseCart, Store } from './stock'
import { send } from 'axios'

export class Cart extends BaseCart implements Store {
  save(item: string): void { this.count(); send(item) }
  load(): string { return String(stock.total(1)) }
  worth(first: Price, items: string[]) {
    const made = new Price()
    made.plus(first)
    first.rounded()
    items.push('x')
    items.map(i => addUp([]))
    Promise.resolve(items)
    return makePrice()
  }
  resolve() { return 1 }
}
--- web/use.tsx
import { Cart } from '../src/cart'
import { sum, Price } from '../src'
export function Page(total: any) {
  const cart = new Cart()
  cart.save('a')
  total(1)
  sum(new Price())
  return <Cart />
}
""",
    """\
cart.ts#Cart extends stock.ts#BaseCart
cart.ts#Cart implements stock.ts#Store
cart.ts#Cart.load calls stock.ts#total
cart.ts#Cart.load overrides stock.ts#Store.load
cart.ts#Cart.save calls stock.ts#BaseCart.count
cart.ts#Cart.save overrides stock.ts#Store.save
cart.ts#Cart.worth calls money.ts#Price
cart.ts#Cart.worth calls money.ts#Price.plus
cart.ts#Cart.worth calls money.ts#Price.rounded
cart.ts#Cart.worth calls money.ts#makePrice
cart.ts#Cart.worth calls money.ts#total
money.ts#Price.plus calls money.ts#Price.rounded
money.ts#makePrice calls money.ts#Price
use.tsx#Page calls cart.ts#Cart
use.tsx#Page calls cart.ts#Cart.save
use.tsx#Page calls money.ts#Price
use.tsx#Page calls stock.ts#total
""",
)

TREES["javascript"] = (
    """\
--- lib/stock.js
class Stock {
  count() { return 1 }
  take() { return this.count() }
}
function total(x) { return x }
module.exports = { Stock, total }
--- lib/cart.js
const { Stock, total } = require('./stock')
const tools = require('./tools')
const send = require('send')
class Cart extends Stock {
  add(item) {
    this.take()
    super.count()
    tools.total(item)
    return total(item)
  }
  later(item) {
    send(item)
    return item.then(x => total(x))
  }
}
module.exports = Cart
--- lib/tools.js
exports.total = function (x) { return x }
function send(x) { return x }
class Later { then(f) { return f } }
module.exports.send = send
--- lib/total.py
def total(x):
    return x
--- app/main.js
const Cart = require('../lib/cart')
class Special extends Cart {}
function main() { return new Cart().add(1) }
""",
    """\
cart.js#Cart extends stock.js#Stock
cart.js#Cart.add calls stock.js#Stock.count
cart.js#Cart.add calls stock.js#Stock.take
cart.js#Cart.add calls stock.js#total
cart.js#Cart.add calls tools.js#total
cart.js#Cart.later calls stock.js#total
main.js#Special extends cart.js#Cart
main.js#main calls cart.js#Cart
main.js#main calls cart.js#Cart.add
stock.js#Stock.take calls stock.js#Stock.count
""",
)

TREES["go"] = (
    """\
--- go.mod
module example.com/shop

go 1.21
--- money/money.go
package money

type Price struct{ cents int }

func New(cents int) *Price { return &Price{cents: cents} }

func (p *Price) Plus(o *Price) *Price { return p.rounded() }

func (p *Price) rounded() *Price { return p }

func Total(ps []Price) int { return len(ps) }
--- stock/stock.go
package stock

type Store interface {
	Save(item string) error
	Fetch() string
}

type Named interface {
	Title() string
}

type Counter struct{}

func (c *Counter) CountAll() int { return total() }

func total() int { return 1 }
--- cart/cart.go
package cart

import (
	"fmt"

	m "example.com/shop/money"
	"example.com/shop/stock"
)

type Cart struct {
	stock.Counter
	price *m.Price
}

func (c *Cart) Save(item string) error {
	c.CountAll()
	fmt.Println(item)
	return verify(item)
}

func (c *Cart) Fetch() string { return fmt.Sprint(m.Total(nil)) }

func (c *Cart) Title() string { return "" }

func Worth(p *m.Price, s stock.Store, verify func()) {
	made := m.New(1)
	made.Plus(p)
	p.Plus(made)
	s.Save("x")
	verify()
}
--- cart/verify.go
package cart

func verify(item string) error { return nil }

func Println(x string) {}
""",
    """\
cart.go#Cart extends stock.go#Counter
cart.go#Cart implements stock.go#Store
cart.go#Cart.Fetch calls money.go#Total
cart.go#Cart.Fetch overrides stock.go#Store.Fetch
cart.go#Cart.Save calls stock.go#Counter.CountAll
cart.go#Cart.Save calls verify.go#verify
cart.go#Cart.Save overrides stock.go#Store.Save
cart.go#Worth calls money.go#New
cart.go#Worth calls money.go#Price.Plus
cart.go#Worth calls stock.go#Store.Save
money.go#Price.Plus calls money.go#Price.rounded
stock.go#Counter.CountAll calls stock.go#total
""",
)

TREES["rust"] = (
    """\
--- Cargo.toml
[package]
name = "shop"
--- src/lib.rs
pub mod money;
pub mod stock;
pub mod cart;
pub use money::Price;
--- src/money.rs
pub struct Price { cents: i64 }

impl Price {
    pub fn new(cents: i64) -> Self { Price { cents } }
    pub fn plus(&self, other: &Price) -> Price { self.rounded() }
    fn rounded(&self) -> Price { Price::new(self.cents) }
    pub fn clone(&self) -> Price { Price::new(1) }
}

pub fn total(prices: &[Price]) -> i64 { prices.len() as i64 }
--- src/stock.rs
use crate::Price;

pub trait Store {
    fn save(&self, item: &str);
    fn load(&self) -> String { String::new() }
}

pub fn total() -> i64 { Price::new(3); 1 }
--- src/cart.rs
use crate::money::{self, Price};
use crate::stock::Store;
use std::mem::swap;

pub struct Cart { first: Price }

impl Cart {
    pub fn worth(&self, price: &Price, total: fn() -> i64) -> i64 {
        let made = Price::new(2);
        made.plus(price);
        price.plus(&made);
        self.load();
        swap(made, price);
        total();
        money::total(&[])
    }
}

impl Store for Cart {
    fn save(&self, item: &str) { item.clone(); }
}
--- src/other.rs
pub fn swap() {}
""",
    """\
cart.rs#Cart implements stock.rs#Store
cart.rs#Cart.save overrides stock.rs#Store.save
cart.rs#Cart.worth calls money.rs#Price.new
cart.rs#Cart.worth calls money.rs#Price.plus
cart.rs#Cart.worth calls money.rs#total
cart.rs#Cart.worth calls stock.rs#Store.load
money.rs#Price.clone calls money.rs#Price.new
money.rs#Price.plus calls money.rs#Price.rounded
money.rs#Price.rounded calls money.rs#Price.new
stock.rs#total calls money.rs#Price.new
""",
)

TREES["java"] = (
    """\
--- src/main/java/shop/money/Price.java
package shop.money;

public class Price {
    private final int cents;
    public Price(int cents) { this.cents = cents; }
    public Price plus(Price other) { return rounded(); }
    public Price rounded() { return this; }
    public static int total(int a) { return a; }
}
--- src/main/java/shop/stock/Store.java
package shop.stock;

public interface Store {
    void save(String item);
    String fetch();
}
--- src/main/java/shop/stock/Base.java
package shop.stock;

public abstract class Base {
    protected int countAll() { return tally(1); }
    public void save(String item) { }
    static int tally(int x) { return x; }
    public int get() { return 1; }
    public boolean add(int x) { return true; }
}
--- src/main/java/shop/cart/Cart.java
package shop.cart;

import java.util.ArrayList;
import java.util.List;
import org.lib.Sender;
import shop.money.Price;
import shop.stock.Base;
import shop.stock.Store;
import static shop.money.Price.total;

public class Cart extends Base implements Store {
    private Price first = new Price(1);

    @Override
    public void save(String item) {
        super.save(item);
        this.countAll();
        Sender.send(item);
        first.plus(null);
    }

    @Override
    public String fetch() { return assemble("x"); }

    private String assemble(String assemble) {
        Price made = new Price(2);
        made.rounded();
        List<String> names = new ArrayList<>();
        names.add("x");
        names.get(0);
        return "" + total(3) + Price.total(4) + assemble;
    }

    class Inner {
        void turn() { fetch(); }
    }
}
--- src/main/java/shop/cart/Sender.java
package shop.cart;

class Sender {
    static void send(String item) { }
}
""",
    """\
Cart.java#Cart extends Base.java#Base
Cart.java#Cart implements Store.java#Store
Cart.java#Cart.Inner.turn calls Cart.java#Cart.fetch
Cart.java#Cart.assemble calls Price.java#Price
Cart.java#Cart.assemble calls Price.java#Price.rounded
Cart.java#Cart.assemble calls Price.java#Price.total
Cart.java#Cart.fetch calls Cart.java#Cart.assemble
Cart.java#Cart.fetch overrides Store.java#Store.fetch
Cart.java#Cart.first calls Price.java#Price
Cart.java#Cart.save calls Base.java#Base.countAll
Cart.java#Cart.save calls Base.java#Base.save
Cart.java#Cart.save calls Price.java#Price.plus
Cart.java#Cart.save overrides Base.java#Base.save
Cart.java#Cart.save overrides Store.java#Store.save
Base.java#Base.countAll calls Base.java#Base.tally
Price.java#Price.plus calls Price.java#Price.rounded
""",
)

TREES["csharp"] = (
    """\
--- Shop/Money/Price.cs
namespace Shop.Money
{
    public class Price
    {
        public Price Plus(Price other) { return Rounded(); }
        public Price Rounded() { return this; }
        public static int Total(int a) { return a; }
    }
}
--- Shop/Stock/Base.cs
namespace Shop.Stock
{
    public interface IStore
    {
        void Save(string item);
    }

    public abstract class Base
    {
        public int CountAll() { return 1; }
        public virtual void Save(string item) { }
        public bool Add(int x) { return true; }
    }
}
--- Shop/Cart/Cart.cs
using System.Collections.Generic;
using Shop.Money;
using Shop.Stock;

namespace Shop.Cart
{
    public class Cart : Base, IStore
    {
        private Price first = new Price();

        public override void Save(string item)
        {
            base.Save(item);
            this.CountAll();
            Assemble();
            first.Plus(null);
        }

        private int Assemble()
        {
            var made = new Price();
            made.Rounded();
            var names = new List<string>();
            names.Add("x");
            return Price.Total(4);
        }
    }
}
""",
    """\
Cart.cs#Cart extends Base.cs#Base
Cart.cs#Cart implements Base.cs#IStore
Cart.cs#Cart.Assemble calls Price.cs#Price
Cart.cs#Cart.Assemble calls Price.cs#Price.Rounded
Cart.cs#Cart.Assemble calls Price.cs#Price.Total
Cart.cs#Cart.Save calls Base.cs#Base.CountAll
Cart.cs#Cart.Save calls Base.cs#Base.Save
Cart.cs#Cart.Save calls Cart.cs#Cart.Assemble
Cart.cs#Cart.Save calls Price.cs#Price.Plus
Cart.cs#Cart.Save overrides Base.cs#Base.Save
Cart.cs#Cart.Save overrides Base.cs#IStore.Save
Cart.cs#Cart.first calls Price.cs#Price
Price.cs#Price.Plus calls Price.cs#Price.Rounded
""",
)

TREES["ruby"] = (
    """\
--- lib/shop/money.rb
module Shop
  class Price
    def plus(other)
      rounded()
    end

    def rounded
      self
    end

    def self.total(items)
      items
    end

    def each
      self
    end
  end
end
--- lib/shop/stock.rb
module Shop
  module Countable
    def count_all
      1
    end
  end

  class Base
    def save(item)
      item
    end
  end
end
--- lib/shop/cart.rb
require "json"
require_relative "money"
require_relative "stock"

module Shop
  class Cart < Base
    include Countable

    def save(item)
      count_all()
      self.check(item)
      made = Price.new
      made.plus(item)
      Price.total([1])
      item.each { |x| puts(x) }
      JSON.generate(item)
    end

    def check(item)
      item
    end
  end
end
--- lib/shop/writer.rb
module Shop
  class Writer
    def generate(item)
      item
    end

    def puts(item)
      item
    end
  end
end
""",
    """\
cart.rb#Shop.Cart extends stock.rb#Shop.Base
cart.rb#Shop.Cart implements stock.rb#Shop.Countable
cart.rb#Shop.Cart.save calls cart.rb#Shop.Cart.check
cart.rb#Shop.Cart.save calls money.rb#Shop.Price.plus
cart.rb#Shop.Cart.save calls money.rb#Shop.Price.total
cart.rb#Shop.Cart.save calls stock.rb#Shop.Countable.count_all
cart.rb#Shop.Cart.save overrides stock.rb#Shop.Base.save
money.rb#Shop.Price.plus calls money.rb#Shop.Price.rounded
""",
)

TREES["php"] = (
    """\
--- composer.json
{"autoload": {"psr-4": {"Shop\\\\": "src/"}}}
--- src/Money/Price.php
<?php
namespace Shop\\Money;

class Price
{
    public function plus(Price $other) { return $this->rounded(); }
    public function rounded() { return $this; }
    public static function total($a) { return $a; }
    public function count() { return 1; }
}
--- src/Stock/Store.php
<?php
namespace Shop\\Stock;

interface Store
{
    public function save(string $item);
}
--- src/Stock/Base.php
<?php
namespace Shop\\Stock;

abstract class Base
{
    public function save(string $item) { return self::check($item); }
    public static function check($item) { return $item; }
}
--- src/Cart/Cart.php
<?php
namespace Shop\\Cart;

use Shop\\Money\\Price;
use Shop\\Stock\\Base;
use Shop\\Stock\\Store as Keeper;
use Vendor\\Lib\\Sender;

class Cart extends Base implements Keeper
{
    public function save(string $item)
    {
        parent::save($item);
        $this->assemble($item);
        Sender::send($item);
        return count($item);
    }

    private function assemble(Price $first)
    {
        $first->rounded();
        static::check(new Price());
        return Price::total(1);
    }
}
--- src/Cart/Sender.php
<?php
namespace Shop\\Cart;

class Sender
{
    public static function send($item) { return $item; }
}
""",
    """\
Base.php#Base.save calls Base.php#Base.check
Cart.php#Cart extends Base.php#Base
Cart.php#Cart implements Store.php#Store
Cart.php#Cart.assemble calls Base.php#Base.check
Cart.php#Cart.assemble calls Price.php#Price
Cart.php#Cart.assemble calls Price.php#Price.rounded
Cart.php#Cart.assemble calls Price.php#Price.total
Cart.php#Cart.save calls Base.php#Base.save
Cart.php#Cart.save calls Cart.php#Cart.assemble
Cart.php#Cart.save overrides Base.php#Base.save
Cart.php#Cart.save overrides Store.php#Store.save
Price.php#Price.plus calls Price.php#Price.rounded
""",
)

TREES["kotlin"] = (
    """\
--- src/main/kotlin/shop/money/Price.kt
package shop.money

class Price(val cents: Int) {
    fun plus(other: Price): Price = rounded()
    fun rounded(): Price = this
}

fun total(a: Int): Int = a

fun Price.doubled(): Price = this
--- src/main/kotlin/shop/stock/Stock.kt
package shop.stock

interface Store {
    fun save(item: String)
}

abstract class Base {
    fun countAll(): Int = total(1)
    open fun check(item: String): Int = 1
    fun add(x: Int): Boolean = true
}

fun total(a: Int): Int = a
--- src/main/kotlin/shop/cart/Cart.kt
package shop.cart

import org.lib.send
import shop.money.Price
import shop.money.doubled
import shop.money.total
import shop.stock.Base
import shop.stock.Store

class Cart(private val first: Price) : Base(), Store {
    override fun save(item: String) {
        countAll()
        this.check(item)
        send(item)
        first.plus(first)
    }

    override fun check(item: String): Int {
        super.check(item)
        val made = Price(2)
        made.rounded()
        made.doubled()
        val names = mutableListOf<Int>()
        names.add(1)
        return total(3)
    }
}
--- src/main/kotlin/shop/cart/Send.kt
package shop.cart

fun send(item: String) {}
""",
    """\
Cart.kt#Cart extends Stock.kt#Base
Cart.kt#Cart implements Stock.kt#Store
Cart.kt#Cart.check calls Price.kt#Price
Cart.kt#Cart.check calls Price.kt#Price.doubled
Cart.kt#Cart.check calls Price.kt#Price.rounded
Cart.kt#Cart.check calls Price.kt#total
Cart.kt#Cart.check calls Stock.kt#Base.check
Cart.kt#Cart.check overrides Stock.kt#Base.check
Cart.kt#Cart.save calls Cart.kt#Cart.check
Cart.kt#Cart.save calls Price.kt#Price.plus
Cart.kt#Cart.save calls Stock.kt#Base.countAll
Cart.kt#Cart.save overrides Stock.kt#Store.save
Price.kt#Price.plus calls Price.kt#Price.rounded
Stock.kt#Base.countAll calls Stock.kt#total
""",
)

TREES["c"] = (
    """\
--- include/money.h
#ifndef MONEY_H
#define MONEY_H
int total(int a);
struct price { int cents; };
#endif
--- src/money.c
#include "money.h"
static int rounded(int a) { return a; }
int total(int a) { return rounded(a); }
--- src/cart.c
#include <stdio.h>
#include "money.h"
static int rounded(int a) { return a + 1; }
int worth(struct price *p) {
  printf("x");
  return total(rounded(p->cents));
}
""",
    """\
cart.c#worth calls cart.c#rounded
cart.c#worth calls money.c#total
cart.c#worth calls money.h#total
money.c#total calls money.c#rounded
""",
)

TREES["cpp"] = (
    """\
--- include/price.hpp
#pragma once
namespace shop {
class Price {
 public:
  Price plus(const Price& other);
  Price rounded() const { return *this; }
  static int total(int a) { return a; }
  void push_back(int x) {}
};
}
--- src/price.cpp
#include "price.hpp"
namespace shop {
Price Price::plus(const Price& other) { return this->rounded(); }
}
--- src/cart.cpp
#include <vector>
#include "price.hpp"
namespace shop {
class Base {
 public:
  virtual int save(int item) { return item; }
};
class Cart : public Base {
 public:
  int save(int item) override {
    Base::save(item);
    std::vector<int> names;
    names.push_back(1);
    return tally(item) + Price::total(2);
  }
  int tally(int x) { return x; }
  int worth(const Price& first) {
    first.rounded();
    return this->save(1);
  }
};
}
""",
    """\
cart.cpp#Cart extends cart.cpp#Base
cart.cpp#Cart.save calls cart.cpp#Base.save
cart.cpp#Cart.save calls cart.cpp#Cart.tally
cart.cpp#Cart.save calls price.hpp#Price.total
cart.cpp#Cart.save overrides cart.cpp#Base.save
cart.cpp#Cart.worth calls cart.cpp#Cart.save
cart.cpp#Cart.worth calls price.hpp#Price.rounded
price.cpp#Price.plus calls price.hpp#Price.rounded
""",
)


@pytest.mark.parametrize("language", TREES)
def test_calls_and_kinship_of_a_tree_are_those_that_a_person_draws(language: str, tmp_path: Path) -> None:
    files, expected = TREES[language]
    with opened(tmp_path / "tree", files) as index:
        assert told(index.open_graph(), "calls", "extends", "implements", "overrides") == sorted(expected.splitlines())


def calls(index: Index) -> list[str]:
    return told(index.open_graph(), "calls")


# How sure an edge is.


def test_a_name_that_is_looked_up_has_the_confidence_of_the_parser_and_one_taken_by_name_less(tmp_path: Path) -> None:
    files = {
        "a.py": "from b import sure\n\ndef go(thing):\n    sure()\n    thing.settle()\n",
        "b.py": "def sure(): pass\n\nclass B:\n    def settle(self): pass\n",
    }
    with opened(tmp_path / "tree", files) as index:
        assert edges_of(index.open_graph(), ["calls"]) == {
            ("a.py#go", "calls", "b.py#sure", 0.7),
            ("a.py#go", "calls", "b.py#B.settle", 0.42),
        }


def test_several_that_bear_a_name_share_its_confidence(tmp_path: Path) -> None:
    files = {f"b{n}.py": f"class B{n}:\n    def settle(self): pass\n" for n in range(3)} | {"a.py": "def go(thing):\n    thing.settle()\n"}
    with opened(tmp_path / "tree", files) as index:
        assert calls(index) == [f"a.py#go calls b{n}.py#B{n}.settle 0.14" for n in range(3)]


@pytest.mark.parametrize(("bearers", "edges"), [(MAX_BY_NAME, MAX_BY_NAME), (MAX_BY_NAME + 1, 0)])
def test_a_name_that_many_bear_says_nothing(bearers: int, edges: int, tmp_path: Path) -> None:
    files = {f"b{n}.py": f"class B{n}:\n    def settle(self): pass\n" for n in range(bearers)} | {
        "a.py": "def go(thing):\n    thing.settle()\n"
    }
    with opened(tmp_path / "tree", files) as index:
        assert len(calls(index)) == edges


@pytest.mark.parametrize(("bearers", "edges"), [(MAX_TYPES_BY_NAME, MAX_TYPES_BY_NAME), (MAX_TYPES_BY_NAME + 1, 0)])
def test_of_types_fewer_are_enough_to_say_nothing(bearers: int, edges: int, tmp_path: Path) -> None:
    files = {f"p{n}/b.py": "class Ledger: pass\n" for n in range(bearers)} | {"a/a.py": "class Own(Ledger): pass\n"}
    with opened(tmp_path / "tree", files) as index:
        assert len(told(index.open_graph(), "extends")) == edges


def test_a_variable_named_after_a_type_is_taken_for_it_with_less_confidence(tmp_path: Path) -> None:
    files = {"a.py": "def go(http_client):\n    http_client.get()\n", "b.py": "class HttpClient:\n    def get(self): pass\n"}
    with opened(tmp_path / "tree", files) as index:
        assert calls(index) == ["a.py#go calls b.py#HttpClient.get 0.42"]


def test_of_many_overloads_only_the_first_are_taken(tmp_path: Path) -> None:
    overloads = "\n".join(f"    int put{''.join(['(', ', '.join(f'int a{i}' for i in range(n)), ')'])} {{ return 1; }}" for n in range(20))
    with opened(tmp_path / "tree", {"A.java": f"class A {{\n{overloads}\n    int go() {{ return this.put(1); }}\n}}\n"}) as index:
        assert len([edge for edge in index.open_graph().kind.tolist() if edge == 0]) == MAX_BY_NAME


# What must not be taken for something of the same name.


@pytest.mark.parametrize("name", ["get", "items", "append", "join", "keys", "close", "read", "format", "update"])
def test_an_everyday_name_on_something_unknown_means_nothing(name: str, tmp_path: Path) -> None:
    assert name in builtin_names()
    files = {"a.py": f"def go(thing):\n    thing.{name}()\n", "b.py": f"class B:\n    def {name}(self): pass\n"}
    with opened(tmp_path / "tree", files) as index:
        assert calls(index) == []


@pytest.mark.parametrize(
    "call",
    [
        "self.box.get()\n        Box().add(1)\n        box = Box()\n        box.get()",
        "Box.get(1)",
        "b.Box.get(1)\n        box: Box = b.Box()\n        box.get()",
    ],
)
def test_an_everyday_name_on_something_known_is_found(call: str, tmp_path: Path) -> None:
    files = {
        "a.py": f"import b\nfrom b import Box\n\nclass A:\n    def go(self, box: Box):\n        {call}\n",
        "b.py": "class Box:\n    def get(self): pass\n",
    }
    with opened(tmp_path / "tree", files) as index:
        assert "a.py#A.go calls b.py#Box.get" in calls(index)


@pytest.mark.parametrize(
    ("name", "imports", "call"),
    [
        ("a.py", "from os.path import sweep", "sweep()"),
        ("a.py", "import lib", "lib.sweep()"),
        ("a.py", "import lib as own", "own.sweep()"),
        ("a.ts", "import { sweep } from 'lib'", "sweep()"),
        ("a.ts", "import * as lib from 'lib'", "lib.sweep()"),
        ("a.go", 'import "example.org/lib"', "lib.sweep()"),
        ("a.rs", "use lib::sweep;", "sweep()"),
        ("A.java", "import org.lib.Lib;", "Lib.sweep()"),
        ("a.php", "use Vendor\\Lib;", "Lib::sweep()"),
        ("a.kt", "import org.lib.sweep", "sweep()"),
    ],
)
def test_what_was_imported_from_outside_is_not_replaced_by_its_namesake_in_here(name: str, imports: str, call: str, tmp_path: Path) -> None:
    holders = {
        "py": ("def go(a):\n    {}\n", "def sweep(): pass\n\nclass B:\n    def sweep(self): pass\n"),
        "ts": ("export function go(a) {{ {} }}\n", "export function sweep() {}\nclass B { sweep() {} }\n"),
        "go": ("func goes() {{ {} }}\n", "package main\n\nfunc sweep() {}\n\ntype B struct{}\n\nfunc (b B) sweep() {}\n"),
        "rs": ("fn go() {{ {}; }}\n", "pub fn sweep() {}\n"),
        "java": ("class A {{ void go() {{ {}; }} }}\n", "class B { static void sweep() {} }\n"),
        "php": ("function go() {{ {}; }}\n", "<?php\nclass B { static function sweep() {} }\nfunction sweep() {}\n"),
        "kt": ("fun go() {{ {} }}\n", "fun sweep() {}\n"),
    }
    ending = name.rpartition(".")[2]
    head = {"go": "package main\n", "php": "<?php\n"}.get(ending, "")
    around, namesake = holders[ending]
    files = {name: f"{head}{imports}\n{around.format(call)}", f"{'B' if ending == 'java' else 'b'}.{ending}": namesake}
    files |= {"go.mod": "module example.com/own\n"} if ending == "go" else {}
    with opened(tmp_path / "tree", files) as index:
        assert calls(index) == []


def test_a_type_that_is_not_here_lends_its_calls_to_nobody(tmp_path: Path) -> None:
    files = {"a.rs": "fn go() { Widget::assemble(); }\n", "b.rs": "struct Own {}\nimpl Own {\n    fn assemble() {}\n}\n"}
    with opened(tmp_path / "tree", files) as index:
        assert calls(index) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", "def settle(x): pass\n\ndef go(settle):\n    settle(1)\n    keep(settle)\n"),
        ("a.ts", "function settle(x) {}\nfunction go(settle: (x: number) => void) { settle(1); keep(settle) }\n"),
        ("a.go", "package a\n\nfunc settle(x int) {}\n\nfunc goes(settle func(int)) { settle(1); keep(settle) }\n"),
        ("a.rs", "fn settle(x: i32) {}\nfn go(settle: fn(i32)) { settle(1); keep(settle); }\n"),
        ("a.c", "void settle(int x) {}\nvoid go(handler settle) { settle(1); keep(settle); }\n"),
        ("a.kt", "fun settle(x: Int) {}\nfun go(settle: (Int) -> Unit) { settle(1); keep(settle) }\n"),
    ],
)
def test_a_parameter_hides_what_has_its_name(name: str, text: str, tmp_path: Path) -> None:
    with opened(tmp_path / "tree", {name: text}) as index:
        assert told(index.open_graph(), "calls", "references") == []


def test_a_parameter_of_java_does_not_hide_a_method(tmp_path: Path) -> None:
    with opened(
        tmp_path / "tree", {"A.java": "class A {\n  int size(int size) { return 1; }\n  int go(int size) { return size(size); }\n}\n"}
    ) as index:
        assert calls(index) == ["A.java#A.go calls A.java#A.size"]


def test_a_language_does_not_call_another(tmp_path: Path) -> None:
    texts = {
        "a.py": "def go(x):\n    x.assemble()\n    settle()\n",
        "b.go": "package b\n\ntype B struct{}\n\nfunc (b B) assemble() {}\n\nfunc settle() {}\n",
    }
    with opened(tmp_path / "tree", texts) as index:
        assert calls(index) == []


def test_languages_of_one_family_do(tmp_path: Path) -> None:
    files = {"a.ts": "import { settle } from './b'\nexport function go() { settle() }\n", "b.js": "export function settle() {}\n"}
    with opened(tmp_path / "tree", files) as index:
        assert calls(index) == ["a.ts#go calls b.js#settle"]


def test_who_speaks_of_a_type_means_the_type_and_not_its_constructor(tmp_path: Path) -> None:
    with opened(
        tmp_path / "tree", {"Price.java": "class Price {\n  Price(int cents) {}\n  Price plus(Price other) { return new Price(1); }\n}\n"}
    ) as index:
        assert told(index.open_graph(), "type_hint_of") == ["Price.java#Price.plus type_hint_of Price.java#Price"]


def test_a_type_of_the_same_name_as_its_parent_does_not_extend_itself(tmp_path: Path) -> None:
    files = {
        "a.py": "import b\nimport outside\n\nclass Field(b.Field):\n    def go(self):\n        self.settle()\n\nclass Other(outside.Field): pass\n",
        "b.py": "class Field:\n    def settle(self): pass\n",
    }
    with opened(tmp_path / "tree", files) as index:
        assert told(index.open_graph(), "extends", "calls") == ["a.py#Field extends b.py#Field", "a.py#Field.go calls b.py#Field.settle"]


# What goes round or goes on.


def test_imports_that_go_round_come_to_an_end(tmp_path: Path) -> None:
    files = {
        "p/__init__.py": "from .a import *\nfrom .b import *\n",
        "p/a.py": "from p.b import *\nfrom p import settle\n\ndef go():\n    settle()\n    lost()\n",
        "p/b.py": "from p.a import *\n\ndef settle(): pass\n",
    }
    with opened(tmp_path / "tree", files) as index:
        assert calls(index) == ["a.py#go calls b.py#settle"]


def test_types_that_extend_each_other_come_to_an_end(tmp_path: Path) -> None:
    files = {"a.py": "class A(B):\n    def go(self):\n        self.settle()\n\nclass B(A):\n    def settle(self): pass\n"}
    with opened(tmp_path / "tree", files) as index:
        assert told(index.open_graph(), "calls", "extends") == [
            "a.py#A extends a.py#B",
            "a.py#A.go calls a.py#B.settle",
            "a.py#B extends a.py#A",
        ]


def test_a_name_that_a_file_defines_ten_thousand_times_costs_no_square_of_it(tmp_path: Path) -> None:
    many = "".join("def same(x):\n    return same(x)\n" for _ in range(10_000))
    members = "class A:\n" + "".join("    def same(self):\n        return self.same()\n" for _ in range(5_000))
    with opened(tmp_path / "tree", {"a.py": many, "b.py": members, "c.py": "from a import same\n\ndef go():\n    same()\n"}) as index:
        kinds = index.open_graph().kind.tolist()
        assert kinds.count(0) <= 5_000 * MAX_BY_NAME
        assert len(kinds) < 60_000


def test_a_tree_without_code_has_a_graph_without_edges(tmp_path: Path) -> None:
    with opened(tmp_path / "tree", {"notes.txt": "nothing\n"}) as index:
        assert len(index.open_graph().source) == 0
    with opened(tmp_path / "empty", {".hidden": ""}) as index:
        assert index.open_graph().nodes == 0


# Projects made by chance, whose calls are known because they were written from them.

names = st.sampled_from([f"step_{letter}" for letter in "abcdef"])
ways = st.sampled_from(["from", "alias", "module", "module alias"])


@st.composite
def projects(draw: st.DrawFn) -> tuple[dict[str, str], set[tuple[str, str]]]:
    """Modules of a package, functions in them, and calls by any way of importing; the same names come again in other modules."""
    modules = draw(st.lists(st.sampled_from([f"part_{n}" for n in range(5)]), min_size=1, max_size=4, unique=True))
    functions = {module: draw(st.lists(names, min_size=1, max_size=4, unique=True)) for module in modules}
    texts, expected = {"pack/__init__.py": ""}, set()
    for module in modules:
        imports: dict[str, str] = {}
        bodies = []
        for function in functions[module]:
            body = ["    pass"]
            for target in draw(st.lists(st.sampled_from(modules), max_size=3)):
                called = draw(st.sampled_from(functions[target]))
                written = called if target == module else _written(draw(ways), target, called, functions[module], imports)
                body.append(f"    {written}(1)")
                if (target, called) != (module, function):
                    expected.add((f"pack/{module}.py#{function}", f"pack/{target}.py#{called}"))
            bodies.append(f"def {function}(value):\n" + "\n".join(body) + "\n")
        texts[f"pack/{module}.py"] = "\n".join([*imports, "", *bodies])
    return texts, expected


def _written(way: str, module: str, called: str, own: list[str], imports: dict[str, str]) -> str:
    """How a function of another module is called, with the import statement it needs."""
    if (
        way == "from"
        and called not in own
        and imports.setdefault(f"from pack.{module} import {called}", called)
        and not _taken(imports, module, called)
    ):
        return called
    if way in ("from", "alias"):
        imports[f"from pack.{module} import {called} as {module}_{called}"] = ""
        return f"{module}_{called}"
    if way == "module":
        imports[f"from . import {module}"] = ""
        return f"{module}.{called}"
    imports[f"import pack.{module} as short_{module}"] = ""
    return f"short_{module}.{called}"


def _taken(imports: dict[str, str], module: str, called: str) -> bool:
    """Whether the name stands for another module's function already; then the statement is taken back."""
    others = [text for text, name in imports.items() if name == called and text != f"from pack.{module} import {called}"]
    if others:
        del imports[f"from pack.{module} import {called}"]
    return bool(others)


@given(projects())
@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_calls_of_any_python_project_are_those_it_was_written_from(
    tmp_path_factory: pytest.TempPathFactory, project: tuple[dict[str, str], set[tuple[str, str]]]
) -> None:
    texts, expected = project
    with opened(tmp_path_factory.mktemp("project") / "tree", texts) as index:
        found = edges_of(index.open_graph(), ["calls"])
    assert {(source, target) for source, _, target, _ in found} == expected
    assert {confidence for _, _, _, confidence in found} <= {0.7}
