; Definitions: the node, its @name; the kind is the capture on the node.
(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(class_declaration name: (identifier) @name) @class
(method_definition name: [(property_identifier) (private_property_identifier) (string)] @name) @method
(method_definition name: (computed_property_name (member_expression property: (property_identifier) @name))) @method
(field_definition property: (_) @name !value) @field
(field_definition
  property: (_) @name
  value: [
        (array) (await_expression) (binary_expression) (call_expression) (false) (identifier) (jsx_element) (jsx_self_closing_element)
        (member_expression) (new_expression) (null) (number) (object) (parenthesized_expression) (regex) (string) (subscript_expression)
        (template_string) (ternary_expression) (this) (true) (unary_expression) (undefined)
  ]) @field
(field_definition
  property: (_) @name
  value: [
    (arrow_function [parameters: (_) parameter: (_)] @parameters body: (_) @body)
    (function_expression parameters: (_) @parameters body: (_) @body)
    (generator_function parameters: (_) @parameters body: (_) @body)
  ]) @method

; Variables of the file, and functions that any variable holds. One that holds a class is that; `require` is an import.
(program (_ . (variable_declarator name: (identifier) @name !value) .) @constant)
(program
  (_ .
    (variable_declarator
      name: (identifier) @name
      value: [
        (array) (await_expression) (binary_expression) (call_expression) (false) (identifier) (jsx_element) (jsx_self_closing_element)
        (member_expression) (new_expression) (null) (number) (object) (parenthesized_expression) (regex) (string) (subscript_expression)
        (template_string) (ternary_expression) (this) (true) (unary_expression) (undefined)
      ] @_value) .) @constant
  (#not-match? @_value "^require\\("))
([
  (lexical_declaration .
    (variable_declarator
      name: (identifier) @name
      value: [
        (arrow_function [parameters: (_) parameter: (_)] @parameters body: (_) @body)
        (function_expression parameters: (_) @parameters body: (_) @body)
        (generator_function parameters: (_) @parameters body: (_) @body)
      ]) .)
  (variable_declaration .
    (variable_declarator
      name: (identifier) @name
      value: [
        (arrow_function [parameters: (_) parameter: (_)] @parameters body: (_) @body)
        (function_expression parameters: (_) @parameters body: (_) @body)
        (generator_function parameters: (_) @parameters body: (_) @body)
      ]) .)
] @function)
(program (_ . (variable_declarator name: (identifier) @name value: (class body: (_) @body)) .) @class)
(program
  (_
    (variable_declarator name: (identifier) @name value: (_)? @_value) @constant . (variable_declarator))
  (#not-match? @_value "^require\\("))
(program
  (_
    (variable_declarator) . (variable_declarator name: (identifier) @name value: (_)? @_value) @constant)
  (#not-match? @_value "^require\\("))

; `export` and `declare` widen what they hold; the kind is that of the narrower node.
(export_statement declaration: (_ name: (_) @name)) @constant
(export_statement
  declaration: (_ .
    (variable_declarator
      name: (identifier) @name
      value: [
        (arrow_function [parameters: (_) parameter: (_)] @parameters body: (_) @body)
        (function_expression parameters: (_) @parameters body: (_) @body)
        (generator_function parameters: (_) @parameters body: (_) @body)
      ]) .) @function)
(export_statement declaration: (_ . (variable_declarator name: (identifier) @name value: (class body: (_) @body)) .) @class)
(export_statement declaration: (_ . (variable_declarator name: (identifier) @name) .)) @constant
(export_statement declaration: (_ (variable_declarator name: (identifier) @name) @constant . (variable_declarator)))
(export_statement declaration: (_ (variable_declarator) . (variable_declarator name: (identifier) @name) @constant))
(export_statement
  "default" @name
  value: [
    (function_expression !name parameters: (_) @parameters body: (_) @body)
    (arrow_function [parameters: (_) parameter: (_)] @parameters body: (_) @body)
  ]) @function
(export_statement value: (function_expression name: (identifier) @name parameters: (_) @parameters body: (_) @body)) @function
(export_statement "default" @name value: (class !name body: (_) @body)) @class
(export_statement value: (class name: (identifier) @name body: (_) @body)) @class
(export_statement "default" @name value: [(call_expression) (new_expression) (object)]) @constant

; Functions by assignment: `exports.f`, `module.exports.f`, `Type.prototype.f`, `object.f`.
((expression_statement
  (assignment_expression
    left: (member_expression object: [(identifier) (member_expression)] @parent property: (property_identifier) @name)
    right: [
      (arrow_function [parameters: (_) parameter: (_)] @parameters body: (_) @body)
      (function_expression parameters: (_) @parameters body: (_) @body)
      (generator_function parameters: (_) @parameters body: (_) @body)
    ])) @function
  (#not-match? @parent "^(module[.])?exports$|[.]prototype$"))
((expression_statement
  (assignment_expression
    left: (member_expression object: [(identifier) (member_expression)] @_object property: (property_identifier) @name)
    right: [
      (arrow_function [parameters: (_) parameter: (_)] @parameters body: (_) @body)
      (function_expression parameters: (_) @parameters body: (_) @body)
      (generator_function parameters: (_) @parameters body: (_) @body)
    ])) @function
  (#any-of? @_object "exports" "module.exports"))
((expression_statement
  (assignment_expression
    left: (member_expression object: [(identifier) (member_expression)] @_object property: (property_identifier) @name)
    right: [(array) (call_expression) (new_expression) (number) (object) (string) (template_string)])) @constant
  (#any-of? @_object "exports" "module.exports"))
((expression_statement
  (assignment_expression
    left: (member_expression
      object: (member_expression object: (identifier) @parent property: (property_identifier) @_prototype)
      property: (property_identifier) @name)
    right: [
      (arrow_function [parameters: (_) parameter: (_)] @parameters body: (_) @body)
      (function_expression parameters: (_) @parameters body: (_) @body)
      (generator_function parameters: (_) @parameters body: (_) @body)
    ])) @method
  (#eq? @_prototype "prototype"))
((expression_statement
  (assignment_expression
    left: (member_expression object: (identifier) @_module property: (property_identifier) @_exports)
    right: [
      (function_expression name: (identifier) @name parameters: (_) @parameters body: (_) @body)
      (generator_function name: (identifier) @name parameters: (_) @parameters body: (_) @body)
    ])) @function
  (#eq? @_module "module") (#eq? @_exports "exports"))
((expression_statement
  (assignment_expression
    left: (member_expression object: (identifier) @_module property: (property_identifier) @_exports)
    right: (class name: (identifier) @name body: (_) @body))) @class
  (#eq? @_module "module") (#eq? @_exports "exports"))

; Functions held by object literals.
(variable_declarator value: (object (pair
  key: [(property_identifier) (string)] @name
  value: [
    (arrow_function [parameters: (_) parameter: (_)] @parameters body: (_) @body)
    (function_expression parameters: (_) @parameters body: (_) @body)
    (generator_function parameters: (_) @parameters body: (_) @body)
  ]) @method))
(export_statement value: (object (pair
  key: [(property_identifier) (string)] @name
  value: [
    (arrow_function [parameters: (_) parameter: (_)] @parameters body: (_) @body)
    (function_expression parameters: (_) @parameters body: (_) @body)
    (generator_function parameters: (_) @parameters body: (_) @body)
  ]) @method))
(assignment_expression right: (object (pair
  key: [(property_identifier) (string)] @name
  value: [
    (arrow_function [parameters: (_) parameter: (_)] @parameters body: (_) @body)
    (function_expression parameters: (_) @parameters body: (_) @body)
    (generator_function parameters: (_) @parameters body: (_) @body)
  ]) @function))

; Mentions
(call_expression function: (identifier) @call)
(call_expression function: (member_expression property: (_) @call))
(new_expression constructor: (identifier) @call)
(new_expression constructor: (member_expression property: (property_identifier) @call))
((jsx_opening_element name: (identifier) @call) (#match? @call "^[A-Z]"))
((jsx_self_closing_element name: (identifier) @call) (#match? @call "^[A-Z]"))
(import_statement) @import
(export_statement source: (string)) @import
(program
  (_
    (variable_declarator
      value: [
        (call_expression function: (identifier) @_require)
        (member_expression object: (call_expression function: (identifier) @_require))
      ])) @import
  (#eq? @_require "require"))
(program (expression_statement (call_expression function: (identifier) @_require)) @import (#eq? @_require "require"))
(comment) @comment

; Relations
(class_heritage [
  (identifier) @extends
  (member_expression property: (property_identifier) @extends)
  (call_expression arguments: (arguments (identifier) @extends))
])
(decorator [
  (identifier) @decorates
  (member_expression property: (property_identifier) @decorates)
  (call_expression function: [(identifier) @decorates (member_expression property: (property_identifier) @decorates)])
])
(throw_statement (new_expression constructor: [(identifier) @throws (member_expression property: (property_identifier) @throws)]))
(arguments [(identifier) @passed (member_expression object: [(identifier) (this)] property: (property_identifier) @passed)])
(pair value: [(identifier) @passed (member_expression object: (identifier) property: (property_identifier) @passed)])
(call_expression function: (import)) @import

; Values
(variable_declarator name: (identifier) @targets)
(assignment_expression left: [(identifier) (member_expression object: (this))] @targets)
(field_definition property: [(property_identifier) (private_property_identifier)] @targets)
(for_in_statement left: (identifier) @targets)
(arrow_function parameter: (identifier) @given)
(arrow_function parameters: (formal_parameters (identifier) @given))
(return_statement (_) @returned)
(arrow_function body: [(call_expression) (member_expression) (new_expression) (identifier) (await_expression)] @returned)
