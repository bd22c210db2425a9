; Definitions: the node, its @name; the kind is the capture on the node.
(namespace_declaration name: (_) @name) @namespace
(class_declaration name: (identifier) @name) @class
(record_declaration name: (identifier) @name) @class
(record_declaration name: (identifier) @name (parameter_list) @parameters) @class
(struct_declaration name: (identifier) @name) @struct
(enum_declaration name: (identifier) @name) @enum
(interface_declaration name: (identifier) @name) @interface
(delegate_declaration name: (identifier) @name) @type
(method_declaration name: (identifier) @name) @method
(constructor_declaration name: (identifier) @name) @method
(destructor_declaration name: (identifier) @name) @method
(operator_declaration operator: _ @name) @method
(conversion_operator_declaration type: (_) @name) @method
(indexer_declaration "this" @name) @method
(local_function_statement name: (identifier) @name parameters: (_) @parameters body: (_) @body) @function
(global_statement (local_function_statement name: (identifier) @name)) @function
(property_declaration name: (identifier) @name) @field
(event_declaration name: (identifier) @name) @field
(event_field_declaration (variable_declaration (variable_declarator name: (identifier) @name) .)) @field
(field_declaration (variable_declaration type: (_) . (variable_declarator name: (identifier) @name) .)) @field
(field_declaration (variable_declaration (variable_declarator name: (identifier) @name) @field . (variable_declarator)))
(field_declaration (variable_declaration (variable_declarator) . (variable_declarator name: (identifier) @name) @field))

; Mentions
(invocation_expression function: [(identifier) @call (generic_name . (identifier) @call)])
(invocation_expression function: (member_access_expression name: [(identifier) @call (generic_name . (identifier) @call)]))
(invocation_expression function: (conditional_access_expression (member_binding_expression name: [(identifier) @call (generic_name . (identifier) @call)])))
(object_creation_expression type: [(identifier) @call (generic_name . (identifier) @call) (qualified_name name: (identifier) @call)])
(using_directive) @import
(comment) @comment

; Relations
; An interface has an `I` and a capital before its name; what has none is a class.
((base_list [
  (identifier) @extends
  (generic_name . (identifier) @extends)
  (qualified_name name: [(identifier) @extends (generic_name . (identifier) @extends)])
  (primary_constructor_base_type type: [(identifier) @extends (generic_name . (identifier) @extends)])
]) (#not-match? @extends "^I[A-Z]"))
((class_declaration (base_list [
  (identifier) @implements
  (generic_name . (identifier) @implements)
  (qualified_name name: [(identifier) @implements (generic_name . (identifier) @implements)])
])) (#match? @implements "^I[A-Z]"))
((record_declaration (base_list [
  (identifier) @implements
  (generic_name . (identifier) @implements)
  (qualified_name name: [(identifier) @implements (generic_name . (identifier) @implements)])
])) (#match? @implements "^I[A-Z]"))
((struct_declaration (base_list [
  (identifier) @implements
  (generic_name . (identifier) @implements)
  (qualified_name name: [(identifier) @implements (generic_name . (identifier) @implements)])
])) (#match? @implements "^I[A-Z]"))
((interface_declaration (base_list [
  (identifier) @extends
  (generic_name . (identifier) @extends)
  (qualified_name name: [(identifier) @extends (generic_name . (identifier) @extends)])
])) (#match? @extends "^I[A-Z]"))
(attribute name: [(identifier) @decorates (qualified_name name: (identifier) @decorates)])
(throw_statement (object_creation_expression type: [(identifier) @throws (qualified_name name: (identifier) @throws)]))
(throw_expression (object_creation_expression type: [(identifier) @throws (qualified_name name: (identifier) @throws)]))

; Values
(variable_declarator name: (identifier) @targets)
(property_declaration name: (identifier) @targets)
(assignment_expression left: [(identifier) (member_access_expression expression: "this")] @targets)
(foreach_statement left: (identifier) @targets)
(catch_declaration name: (identifier) @targets)
(declaration_expression name: (identifier) @targets)
(lambda_expression parameters: (implicit_parameter) @given)
(lambda_expression parameters: (parameter_list (parameter name: (identifier) @given !type)))
