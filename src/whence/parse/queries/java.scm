; Definitions: the node, its @name; the kind is the capture on the node.
(class_declaration name: (identifier) @name) @class
(record_declaration name: (identifier) @name) @class
(enum_declaration name: (identifier) @name) @enum
(interface_declaration name: (identifier) @name) @interface
(annotation_type_declaration name: (identifier) @name) @interface
(method_declaration name: (identifier) @name) @method
(constructor_declaration name: (identifier) @name) @method
(compact_constructor_declaration name: (identifier) @name) @method
(annotation_type_element_declaration name: (identifier) @name) @method
(field_declaration type: (_) . declarator: (variable_declarator name: (identifier) @name) .) @field
(field_declaration declarator: (variable_declarator name: (identifier) @name) @field . (variable_declarator))
(field_declaration (variable_declarator) . declarator: (variable_declarator name: (identifier) @name) @field)
(constant_declaration type: (_) . declarator: (variable_declarator name: (identifier) @name) .) @field
(constant_declaration declarator: (variable_declarator name: (identifier) @name) @field . (variable_declarator))
(constant_declaration (variable_declarator) . declarator: (variable_declarator name: (identifier) @name) @field)

; Mentions
(method_invocation name: (identifier) @call)
(object_creation_expression type: (type_identifier) @call)
(object_creation_expression type: (generic_type . (type_identifier) @call))
(object_creation_expression type: (scoped_type_identifier (type_identifier) @call .))
(method_reference (_) (identifier) @call .)
(import_declaration) @import
(line_comment) @comment
(block_comment) @comment

; Relations
(superclass [
  (type_identifier) @extends
  (scoped_type_identifier (type_identifier) @extends .)
  (generic_type . [(type_identifier) @extends (scoped_type_identifier (type_identifier) @extends .)])
])
(extends_interfaces (type_list [
  (type_identifier) @extends
  (scoped_type_identifier (type_identifier) @extends .)
  (generic_type . [(type_identifier) @extends (scoped_type_identifier (type_identifier) @extends .)])
]))
(super_interfaces (type_list [
  (type_identifier) @implements
  (scoped_type_identifier (type_identifier) @implements .)
  (generic_type . [(type_identifier) @implements (scoped_type_identifier (type_identifier) @implements .)])
]))
(marker_annotation name: [(identifier) @decorates (scoped_identifier name: (identifier) @decorates)])
(annotation name: [(identifier) @decorates (scoped_identifier name: (identifier) @decorates)])
(throws [(type_identifier) @throws (scoped_type_identifier (type_identifier) @throws .)])
(throw_statement (object_creation_expression type: [(type_identifier) @throws (scoped_type_identifier (type_identifier) @throws .)]))

; Values
(variable_declarator name: (identifier) @targets)
(assignment_expression left: [(identifier) (field_access object: (this))] @targets)
(enhanced_for_statement name: (identifier) @targets)
(catch_formal_parameter name: (identifier) @targets)
(resource name: (identifier) @targets)
(lambda_expression parameters: (identifier) @given)
(inferred_parameters (identifier) @given)
(lambda_expression parameters: (formal_parameters (formal_parameter name: (identifier) @targets)))
(record_declaration parameters: (formal_parameters (formal_parameter name: (identifier) @targets)))
