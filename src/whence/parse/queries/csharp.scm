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
(global_statement (local_function_statement name: (identifier) @name parameters: (_) @parameters body: (_) @body)) @function
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
