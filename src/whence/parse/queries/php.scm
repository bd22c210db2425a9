(class_declaration name: (name) @name) @class
(interface_declaration name: (name) @name) @interface
(trait_declaration name: (name) @name) @trait
(enum_declaration name: (name) @name) @enum
(namespace_definition name: (namespace_name) @name body: (_)) @namespace
(function_definition name: (name) @name) @function
(method_declaration name: (name) @name) @method
(property_declaration (property_element name: (variable_name (name) @name))) @field
(const_declaration (const_element . (name) @name)) @constant
(program (expression_statement
  (assignment_expression left: (variable_name (name) @name))) @constant)
(program (expression_statement
  (assignment_expression
    left: (variable_name (name) @name)
    right: [
      (anonymous_function parameters: (_) @parameters body: (_) @body)
      (arrow_function parameters: (_) @parameters body: (_) @body)
    ])) @function)
(program (expression_statement
  (function_call_expression
    function: (name) @_define
    arguments: (arguments . (argument (string (string_content) @name)))))  @constant
  (#eq? @_define "define"))

; Mentions
(function_call_expression function: (name) @call)
(function_call_expression function: (qualified_name (name) @call))
(member_call_expression name: (name) @call)
(nullsafe_member_call_expression name: (name) @call)
(scoped_call_expression name: (name) @call)
(object_creation_expression (name) @call)
(object_creation_expression (qualified_name (name) @call))
(namespace_use_declaration) @import
(require_expression) @import
(require_once_expression) @import
(include_expression) @import
(include_once_expression) @import
(comment) @comment

; Relations
(base_clause [(name) @extends (qualified_name (name) @extends)])
(class_interface_clause [(name) @implements (qualified_name (name) @implements)])
(use_declaration [(name) @implements (qualified_name (name) @implements)])
(attribute [(name) @decorates (qualified_name (name) @decorates)])
(throw_expression (object_creation_expression [(name) @throws (qualified_name (name) @throws)]))

; Values
(assignment_expression left: [(variable_name) (member_access_expression object: (variable_name) name: (name)) (scoped_property_access_expression)] @targets)
(property_declaration (property_element name: (variable_name) @targets))
(foreach_statement (_) . (variable_name) @targets)
(foreach_statement (_) . (pair (_) (variable_name) @targets))
(catch_clause name: (variable_name) @targets)
(anonymous_function parameters: (formal_parameters (simple_parameter name: (variable_name) @targets)))
(arrow_function parameters: (formal_parameters (simple_parameter name: (variable_name) @targets)))
(return_statement (_) @returned)
