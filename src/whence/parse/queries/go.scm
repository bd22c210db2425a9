; Definitions: the node, its @name; the kind is the capture on the node.
(function_declaration name: (identifier) @name) @function
(method_declaration
  receiver: (parameter_list (parameter_declaration type: (_) @parent))
  name: (field_identifier) @name) @method
(method_elem name: (field_identifier) @name) @method

; Types: declared alone, the whole statement; in a group, one line of it.
(type_declaration . (type_spec name: (type_identifier) @name type: (struct_type (field_declaration_list) @body)) .) @struct
(type_declaration . (type_spec name: (type_identifier) @name type: (interface_type)) .) @interface
(type_declaration .
  (type_spec
    name: (type_identifier) @name
    type: [
      (array_type) (channel_type) (function_type) (generic_type) (map_type) (parenthesized_type) (pointer_type) (qualified_type) (slice_type)
      (type_identifier)
    ]) .) @type
(type_declaration . (type_alias name: (type_identifier) @name) .) @type
(type_declaration "(" (type_spec name: (type_identifier) @name type: (struct_type (field_declaration_list) @body)) @struct)
(type_declaration "(" (type_spec name: (type_identifier) @name type: (interface_type)) @interface)
(type_declaration
  "("
  (type_spec
    name: (type_identifier) @name
    type: [
      (array_type) (channel_type) (function_type) (generic_type) (map_type) (parenthesized_type) (pointer_type) (qualified_type) (slice_type)
      (type_identifier)
    ]) @type)
(type_declaration "(" (type_alias name: (type_identifier) @name) @type)

; Constants and variables of the package, by the first name of each.
(source_file (const_declaration . (const_spec . name: (identifier) @name) .) @constant)
(source_file (const_declaration "(" (const_spec . name: (identifier) @name) @constant))
(source_file (var_declaration . (var_spec . name: (identifier) @name !value)) @constant)
(source_file
  (var_declaration .
    (var_spec .
      name: (identifier) @name
      value: (expression_list .
        [
          (binary_expression) (call_expression) (composite_literal) (false) (float_literal) (identifier) (index_expression) (int_literal)
          (interpreted_string_literal) (nil) (parenthesized_expression) (raw_string_literal) (rune_literal) (selector_expression)
          (slice_expression) (true) (type_assertion_expression) (type_conversion_expression) (unary_expression)
        ]))) @constant)
(source_file
  (var_declaration .
    (var_spec .
      name: (identifier) @name
      value: (expression_list . (func_literal parameters: (_) @parameters body: (_) @body)))) @function)
(short_var_declaration
  left: (expression_list . (identifier) @name .)
  right: (expression_list . (func_literal parameters: (_) @parameters body: (_) @body) .)) @function
(source_file (var_declaration (var_spec_list (var_spec . name: (identifier) @name) @constant)))

; Mentions
(call_expression function: (identifier) @call)
(call_expression function: (selector_expression field: (field_identifier) @call))
(type_conversion_expression type: (generic_type type: (type_identifier) @call))
(import_spec) @import
(comment) @comment

; Relations
; What is embedded lends its methods.
(field_declaration !name type: [
  (type_identifier) @extends
  (qualified_type name: (type_identifier) @extends)
  (generic_type type: [(type_identifier) @extends (qualified_type name: (type_identifier) @extends)])
])
(interface_type (type_elem . [
  (type_identifier) @extends
  (qualified_type name: (type_identifier) @extends)
  (generic_type type: [(type_identifier) @extends (qualified_type name: (type_identifier) @extends)])
] .))
(argument_list [(identifier) @passed (selector_expression operand: (identifier) field: (field_identifier) @passed)])
(keyed_element (literal_element) . (literal_element [(identifier) @passed (selector_expression operand: (identifier) field: (field_identifier) @passed)]))

; Values
(short_var_declaration left: (expression_list (identifier) @targets))
(assignment_statement left: (expression_list (identifier) @targets))
(range_clause left: (expression_list (identifier) @targets))
(var_spec name: (identifier) @targets)
(field_declaration name: (field_identifier) @targets)
