; Definitions: the node, its @name; the kind is the capture on the node.
(class_declaration declaration_kind: ["class" "actor"] name: (type_identifier) @name) @class
(class_declaration declaration_kind: "struct" name: (type_identifier) @name) @struct
(class_declaration declaration_kind: "enum" name: (type_identifier) @name) @enum
(class_declaration declaration_kind: "extension" name: (user_type (type_identifier) @name .)) @scope
(class_declaration declaration_kind: "extension" name: (user_type (type_identifier) @name .)
  (inheritance_specifier inherits_from: [(user_type (type_identifier) @implements .) (user_type (type_identifier) @implements . (type_arguments) .)])) @scope
(protocol_declaration name: (type_identifier) @name) @interface
(function_declaration "func" . name: _ @name) @function
(protocol_function_declaration "func" . name: _ @name) @method
(init_declaration name: "init" @name) @method
(deinit_declaration "deinit" @name) @method
(subscript_declaration "subscript" @name) @method
(macro_declaration (simple_identifier) @name) @macro
(typealias_declaration "typealias" . name: (type_identifier) @name) @type
(associatedtype_declaration name: (type_identifier) @name) @type
(source_file (property_declaration (value_binding_pattern) . name: (pattern bound_identifier: (simple_identifier) @name)) @constant)
(class_body (property_declaration (value_binding_pattern) . name: (pattern bound_identifier: (simple_identifier) @name)) @field)
(enum_class_body (property_declaration (value_binding_pattern) . name: (pattern bound_identifier: (simple_identifier) @name)) @field)
(protocol_property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @field

; Mentions
; Brackets are a call of `subscript`, which goes without saying.
(call_expression . (simple_identifier) @call (call_suffix [(value_arguments . "(") (lambda_literal)]))
(call_expression .
  (navigation_expression suffix: (navigation_suffix suffix: (simple_identifier) @call))
  (call_suffix [(value_arguments . "(") (lambda_literal)]))
(constructor_expression constructed_type: (user_type (type_identifier) @call . (type_arguments)))
(import_declaration) @import
(comment) @comment
(multiline_comment) @comment

; Relations
; The first parent of a class is mostly a class; all others are protocols.
(class_declaration declaration_kind: "class" name: (_) . (type_parameters)? . (inheritance_specifier inherits_from: [(user_type (type_identifier) @extends .) (user_type (type_identifier) @extends . (type_arguments) .)]))
(class_declaration declaration_kind: "class" (inheritance_specifier) (inheritance_specifier inherits_from: [(user_type (type_identifier) @implements .) (user_type (type_identifier) @implements . (type_arguments) .)]))
(class_declaration declaration_kind: ["struct" "enum" "actor"] (inheritance_specifier inherits_from: [(user_type (type_identifier) @implements .) (user_type (type_identifier) @implements . (type_arguments) .)]))
(protocol_declaration (inheritance_specifier inherits_from: [(user_type (type_identifier) @extends .) (user_type (type_identifier) @extends . (type_arguments) .)]))
(attribute [(user_type (type_identifier) @decorates .) (user_type (type_identifier) @decorates . (type_arguments) .)])
(control_transfer_statement (throw_keyword) . [
  (call_expression . (simple_identifier) @throws)
  (call_expression . (navigation_expression target: (simple_identifier) @throws))
  (navigation_expression target: (simple_identifier) @throws)
])
(value_argument value: (simple_identifier) @passed)
