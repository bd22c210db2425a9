; Definitions: the node, its @name; the kind is the capture on the node.
(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(class_declaration name: (type_identifier) @name) @class
(abstract_class_declaration name: (type_identifier) @name) @class
(interface_declaration name: (type_identifier) @name) @interface
(enum_declaration name: (identifier) @name) @enum
(type_alias_declaration name: (type_identifier) @name) @type
(internal_module name: (_) @name) @namespace
(module name: (_) @name) @namespace
(function_signature name: (identifier) @name) @function
(method_definition name: [(property_identifier) (private_property_identifier) (string)] @name) @method
(method_definition name: (computed_property_name (member_expression property: (property_identifier) @name))) @method
(abstract_method_signature name: (_) @name) @method
(class_body (method_signature name: (_) @name) @method)
(interface_body (method_signature name: (_) @name) @method)
(interface_body (property_signature name: (_) @name type: (type_annotation (function_type parameters: (_) @parameters))) @method)
(public_field_definition name: (_) @name !value) @field
(public_field_definition
  name: (_) @name
  value: [
        (array) (as_expression) (await_expression) (binary_expression) (call_expression) (false) (identifier) (non_null_expression)
        (member_expression) (new_expression) (null) (number) (object) (parenthesized_expression) (regex) (satisfies_expression) (string) (subscript_expression)
        (template_string) (ternary_expression) (this) (true) (unary_expression) (undefined)
  ]) @field
(public_field_definition
  name: (_) @name
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
        (array) (as_expression) (await_expression) (binary_expression) (call_expression) (false) (identifier) (non_null_expression)
        (member_expression) (new_expression) (null) (number) (object) (parenthesized_expression) (regex) (satisfies_expression) (string) (subscript_expression)
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
(export_statement declaration: (ambient_declaration (_ name: (_) @name))) @constant
(ambient_declaration (_ name: (_) @name)) @constant
(ambient_declaration (_ . (variable_declarator name: (identifier) @name) .)) @constant
(expression_statement (internal_module name: (_) @name)) @namespace
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
(export_statement value: (class name: (type_identifier) @name body: (_) @body)) @class
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
    right: (class name: (type_identifier) @name body: (_) @body))) @class
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
(import_statement) @import
(export_statement source: (string)) @import
(import_alias) @import
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
(decorator) @attribute

; Relations
(extends_clause value: [
  (identifier) @extends
  (member_expression property: (property_identifier) @extends)
  (call_expression arguments: (arguments (identifier) @extends))
])
(implements_clause [
  (type_identifier) @implements
  (nested_type_identifier name: (type_identifier) @implements)
  (generic_type name: [(type_identifier) @implements (nested_type_identifier name: (type_identifier) @implements)])
])
(extends_type_clause type: [
  (type_identifier) @extends
  (nested_type_identifier name: (type_identifier) @extends)
  (generic_type name: [(type_identifier) @extends (nested_type_identifier name: (type_identifier) @extends)])
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
(public_field_definition name: [(property_identifier) (private_property_identifier)] @targets)
(property_signature name: (property_identifier) @targets)
(for_in_statement left: (identifier) @targets)
(arrow_function parameter: (identifier) @given)
(arrow_function parameters: (formal_parameters (required_parameter pattern: (identifier) @given !type)))
(arrow_function parameters: (formal_parameters (required_parameter pattern: (identifier) @targets type: (_))))
(return_statement (_) @returned)
(arrow_function body: [(call_expression) (member_expression) (new_expression) (identifier) (await_expression) (non_null_expression)] @returned)
