; A `class << self` block is no unit: what is inside belongs to the class around it.
(class name: (_) @name) @class
(module name: (_) @name) @module
(method name: (_) @name) @function
(singleton_method name: (_) @name) @function
(singleton_method object: (constant) @parent name: (_) @name) @method
; `private def x`, `memoize def x`
(call arguments: (argument_list . (method name: (_) @name))) @function
(call arguments: (argument_list . (singleton_method name: (_) @name))) @function
(assignment left: [(constant) (scope_resolution)] @name) @constant
(assignment left: (constant) @name right: (lambda parameters: (_)? @parameters)) @function
(assignment left: (constant) @name
  right: (call receiver: (constant) @_maker method: (identifier) @_make)
  (#any-of? @_maker "Struct" "Data" "Class")
  (#any-of? @_make "new" "define")) @class
(assignment left: (constant) @name
  right: (call receiver: (constant) @_maker method: (identifier) @_make)
  (#eq? @_maker "Module")
  (#eq? @_make "new")) @module
(class body: (body_statement (assignment left: (class_variable) @name) @field))
(body_statement
  (call !receiver method: (identifier) @_macro arguments: (argument_list (simple_symbol) @name)) @field
  (#any-of? @_macro "attr_accessor" "attr_reader" "attr_writer" "cattr_accessor" "mattr_accessor" "class_attribute"))
(body_statement
  (call !receiver method: (identifier) @_macro arguments: (argument_list . (simple_symbol) @name)) @method
  (#any-of? @_macro "define_method" "alias_method"))
(alias name: (identifier) @name) @method
(body_statement
  (call !receiver method: (identifier) @_macro arguments: (argument_list (simple_symbol) @name)) @method
  (#any-of? @_macro "delegate" "def_delegator"))
(body_statement
  (call !receiver method: (identifier) @_macro arguments: (argument_list . (_) (simple_symbol) @name)) @method
  (#any-of? @_macro "def_delegators" "def_instance_delegators"))

; Mentions
(call method: [(identifier) (constant)] @call)
((call !receiver method: (identifier) @_require arguments: (argument_list . (string))) @import
  (#any-of? @_require "require" "require_relative" "load" "autoload" "require_dependency"))
(comment) @comment

; Relations
(superclass [(constant) @extends (scope_resolution name: (constant) @extends)])
((call !receiver method: (identifier) @_include arguments: (argument_list [(constant) @implements (scope_resolution name: (constant) @implements)]))
  (#any-of? @_include "include" "extend" "prepend"))
((call !receiver method: (identifier) @_raise arguments: (argument_list . [
    (constant) @throws
    (scope_resolution name: (constant) @throws)
    (call receiver: [(constant) @throws (scope_resolution name: (constant) @throws)])
  ]))
  (#any-of? @_raise "raise" "fail"))
(argument_list (simple_symbol) @passed)

; Values
(assignment left: [(identifier) (instance_variable) (class_variable)] @targets)
(operator_assignment left: [(identifier) (instance_variable) (class_variable)] @targets)
(block_parameters (identifier) @given)
(return (argument_list (_) @returned))
(method body: (body_statement (_) @returned .))
(singleton_method body: (body_statement (_) @returned .))
(identifier) @plain
(super) @plain
