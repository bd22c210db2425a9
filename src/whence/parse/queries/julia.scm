(module_definition name: (identifier) @name) @namespace
(abstract_definition (type_head [
  (identifier) @name
  (parametrized_type_expression . (identifier) @name)
  (binary_expression . (identifier) @name)
  (binary_expression . (parametrized_type_expression . (identifier) @name))
])) @type
(primitive_definition (type_head [(identifier) @name (binary_expression . (identifier) @name)])) @type
(struct_definition (type_head [
  (identifier) @name
  (parametrized_type_expression . (identifier) @name)
  (binary_expression . (identifier) @name)
  (binary_expression . (parametrized_type_expression . (identifier) @name))
])) @struct
(struct_definition (block [
  (identifier) @name
  (typed_expression . (identifier) @name)
  (assignment . (typed_expression . (identifier) @name))
] @field))
(function_definition (signature (identifier) @name)) @function
(function_definition
  (signature [
    (call_expression . [(identifier) @name (field_expression) @name (operator) @name (parametrized_type_expression . (identifier) @name) (parenthesized_expression (typed_expression (identifier) @name .))] . (argument_list) @parameters)
    (typed_expression . (call_expression . [(identifier) @name (field_expression) @name (operator) @name (parametrized_type_expression . (identifier) @name) (parenthesized_expression (typed_expression (identifier) @name .))] . (argument_list) @parameters))
    (where_expression . (call_expression . [(identifier) @name (field_expression) @name (operator) @name (parametrized_type_expression . (identifier) @name) (parenthesized_expression (typed_expression (identifier) @name .))] . (argument_list) @parameters))
    (where_expression . (typed_expression . (call_expression . [(identifier) @name (field_expression) @name (operator) @name (parametrized_type_expression . (identifier) @name) (parenthesized_expression (typed_expression (identifier) @name .))] . (argument_list) @parameters)))
  ])
  (block)? @body) @function
(assignment . [
  (call_expression . [(identifier) @name (field_expression) @name (operator) @name (parametrized_type_expression . (identifier) @name) (parenthesized_expression (typed_expression (identifier) @name .))] . (argument_list) @parameters)
  (typed_expression . (call_expression . [(identifier) @name (field_expression) @name (operator) @name (parametrized_type_expression . (identifier) @name) (parenthesized_expression (typed_expression (identifier) @name .))] . (argument_list) @parameters))
  (where_expression . (call_expression . [(identifier) @name (field_expression) @name (operator) @name (parametrized_type_expression . (identifier) @name) (parenthesized_expression (typed_expression (identifier) @name .))] . (argument_list) @parameters))
  (where_expression . (typed_expression . (call_expression . [(identifier) @name (field_expression) @name (operator) @name (parametrized_type_expression . (identifier) @name) (parenthesized_expression (typed_expression (identifier) @name .))] . (argument_list) @parameters)))
]) @function
(macro_definition
  (signature (call_expression . (_) @name . (argument_list) @parameters))
  (block)? @body) @macro
; `@inline function ...`, `Base.@kwdef struct ...`
(macrocall_expression (macro_argument_list (function_definition (signature [
  (call_expression . [(identifier) @name (field_expression) @name (parametrized_type_expression . (identifier) @name)] . (argument_list))
  (typed_expression . (call_expression . [(identifier) @name (field_expression) @name (parametrized_type_expression . (identifier) @name)] . (argument_list)))
  (where_expression . (call_expression . [(identifier) @name (field_expression) @name (parametrized_type_expression . (identifier) @name)] . (argument_list)))
  (where_expression . (typed_expression . (call_expression . [(identifier) @name (field_expression) @name (parametrized_type_expression . (identifier) @name)] . (argument_list))))
])))) @function
(macrocall_expression (macro_argument_list (assignment . [
  (call_expression . [(identifier) @name (field_expression) @name (parametrized_type_expression . (identifier) @name)] . (argument_list))
  (typed_expression . (call_expression . [(identifier) @name (field_expression) @name (parametrized_type_expression . (identifier) @name)] . (argument_list)))
  (where_expression . (call_expression . [(identifier) @name (field_expression) @name (parametrized_type_expression . (identifier) @name)] . (argument_list)))
  (where_expression . (typed_expression . (call_expression . [(identifier) @name (field_expression) @name (parametrized_type_expression . (identifier) @name)] . (argument_list))))
]))) @function
(macrocall_expression (macro_argument_list (struct_definition (type_head [
  (identifier) @name
  (parametrized_type_expression . (identifier) @name)
  (binary_expression . (identifier) @name)
  (binary_expression . (parametrized_type_expression . (identifier) @name))
])))) @struct
(macrocall_expression (macro_identifier) @_macro (macro_argument_list . (identifier) @name)
  (#eq? @_macro "@enum")) @enum
(source_file (assignment . (identifier) @name) @constant)
(module_definition (block (assignment . (identifier) @name) @constant))
(source_file (assignment . (identifier) @name (arrow_function_expression)) @function)
(module_definition (block (assignment . (identifier) @name (arrow_function_expression)) @function))
(const_statement (assignment . [
  (identifier) @name
  (typed_expression . (identifier) @name)
  (parametrized_type_expression . (identifier) @name)
])) @constant

; Mentions
(call_expression . (identifier) @call)
(call_expression . (field_expression (identifier) @call .))
(broadcast_call_expression . (identifier) @call)
(macrocall_expression . (macro_identifier (identifier) @call))
(using_statement) @import
(import_statement) @import
((call_expression . (identifier) @_include . (argument_list (string_literal))) @import
  (#eq? @_include "include"))
(line_comment) @comment
(block_comment) @comment
; A string above a definition documents it.
(source_file (string_literal (content) @doc) @attribute)
(module_definition (block (string_literal (content) @doc) @attribute))
(struct_definition (block (string_literal (content) @doc) @attribute))

; Relations
(type_head (binary_expression (operator) . [
  (identifier) @extends
  (parametrized_type_expression . (identifier) @extends)
  (field_expression (identifier) @extends .)
] .))
((call_expression . (identifier) @_throw . (argument_list . (call_expression . (identifier) @throws))) (#eq? @_throw "throw"))
((macrocall_expression . (macro_identifier (identifier) @decorates) . (macro_argument_list [(function_definition) (struct_definition) (assignment)]))
  (#not-match? @decorates "^(testset|time|assert|test|eval)$"))
(call_expression (argument_list (identifier) @passed))
