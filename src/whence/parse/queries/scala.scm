; Definitions: the node, its @name; the kind is the capture on the node.
(class_definition name: (identifier) @name) @class
(class_definition name: (identifier) @name class_parameters: (class_parameters) @parameters) @class
(object_definition name: (identifier) @name) @class
(package_object name: (identifier) @name) @class
(trait_definition name: (identifier) @name) @trait
(enum_definition name: (identifier) @name) @enum
(enum_definition name: (identifier) @name class_parameters: (class_parameters) @parameters) @enum
(package_clause name: (package_identifier) @name body: (_)) @namespace
(function_definition name: (_) @name) @function
(function_definition name: (_) @name . parameters: (type_parameters)? . parameters: (parameters) @parameters) @function
(function_declaration name: (_) @name) @function
(function_declaration name: (_) @name . parameters: (type_parameters)? . parameters: (parameters) @parameters) @function
(type_definition name: (type_identifier) @name) @type
(given_definition name: (identifier) @name) @constant
(template_body (val_definition pattern: (identifier) @name) @field)
(template_body (var_definition pattern: (identifier) @name) @field)
(template_body (val_declaration name: (identifier) @name) @field)
(template_body (var_declaration name: (identifier) @name) @field)
(enum_body (val_definition pattern: (identifier) @name) @field)
(compilation_unit (val_definition pattern: (identifier) @name) @constant)
(compilation_unit (var_definition pattern: (identifier) @name) @constant)

; What an extension holds belongs to the type it extends.
(extension_definition
  parameters: (parameters . (parameter type: [(type_identifier) @name (generic_type type: (type_identifier) @name)]))) @scope

; Mentions
(call_expression function: (identifier) @call)
(call_expression function: (field_expression field: (identifier) @call))
(generic_function function: (identifier) @call)
(generic_function function: (field_expression field: (identifier) @call))
(instance_expression [(type_identifier) @call (generic_type type: (type_identifier) @call)])
(infix_expression operator: (identifier) @call)
(import_declaration) @import
(comment) @comment
(block_comment) @comment

; Relations
(extends_clause . type: [
  (type_identifier) @extends
  (stable_type_identifier (type_identifier) @extends .)
  (generic_type type: [(type_identifier) @extends (stable_type_identifier (type_identifier) @extends .)])
])
(extends_clause (_) [
  (type_identifier) @implements
  (stable_type_identifier (type_identifier) @implements .)
  (generic_type type: [(type_identifier) @implements (stable_type_identifier (type_identifier) @implements .)])
])
(annotation name: [(type_identifier) @decorates (stable_type_identifier (type_identifier) @decorates .)])
(throw_expression (instance_expression [(type_identifier) @throws (generic_type type: (type_identifier) @throws)]))
(throw_expression (call_expression function: (identifier) @throws))
(arguments [(identifier) @passed (field_expression value: (identifier) field: (identifier) @passed)])
