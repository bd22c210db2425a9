(module_definition (module_binding . (module_name) @name)) @namespace
(module_type_definition . (module_type_name) @name) @interface
(class_definition (class_binding (class_name) @name)) @class
(class_type_definition (class_type_binding (class_type_name) @name)) @interface
(method_definition (method_name) @name) @method
(method_specification (method_name) @name) @method
(instance_variable_definition (instance_variable_name) @name) @field
(exception_definition (constructor_declaration . (constructor_name) @name)) @type
(external . (value_name) @name) @function
(external . (parenthesized_operator (_) @name)) @function
(value_specification . [(value_name) @name (parenthesized_operator (_) @name)]) @function

; `type a = ... and b = ...`: each is its keyword and its binding.
(type_definition . (type_binding name: (_) @name) .) @type
(type_definition . (type_binding name: (_) @name body: (record_declaration)) .) @struct
(type_definition . (type_binding name: (_) @name body: (variant_declaration)) .) @enum
(type_definition . "type" @type . (type_binding name: (_) @name) @type "and")
(type_definition "and" @type . (type_binding name: (_) @name) @type)
(record_declaration (field_declaration (field_name) @name) @field)

; Values and functions of the file and of its modules; the same for `let ... and ...`.
(compilation_unit (value_definition . (let_binding pattern: (value_name) @name) .) @constant)
(structure (value_definition . (let_binding pattern: (value_name) @name) .) @constant)
(compilation_unit (value_definition . (let_binding
  pattern: [(value_name) @name (parenthesized_operator (_) @name)] . (parameter) body: (_) @body) .) @function)
(structure (value_definition . (let_binding
  pattern: [(value_name) @name (parenthesized_operator (_) @name)] . (parameter) body: (_) @body) .) @function)
(compilation_unit (value_definition . (let_binding
  pattern: (value_name) @name body: [(fun_expression) (function_expression)]) .) @function)
(structure (value_definition . (let_binding
  pattern: (value_name) @name body: [(fun_expression) (function_expression)]) .) @function)
(compilation_unit (value_definition
  . "let" @function . "rec"? . (let_binding pattern: (value_name) @name body: (_) @body) @function "and"))
(structure (value_definition
  . "let" @function . "rec"? . (let_binding pattern: (value_name) @name body: (_) @body) @function "and"))
(compilation_unit (value_definition "and" @function . (let_binding pattern: (value_name) @name body: (_) @body) @function))
(structure (value_definition "and" @function . (let_binding pattern: (value_name) @name body: (_) @body) @function))

; Mentions
(application_expression function: (value_path (value_name) @call))
(method_invocation method: (method_name) @call)
(infix_expression operator: (rel_operator) @_pipe right: (value_path (value_name) @call)
  (#eq? @_pipe "|>"))
(open_module) @import
(include_module) @import
(comment) @comment

; Relations
(inheritance_definition class: [
  (class_path (class_name) @extends)
  (class_application class: (class_path (class_name) @extends))
])
(module_binding module_type: [
  (module_type_path (module_type_name) @implements)
  (module_type_constraint module_type: (module_type_path (module_type_name) @implements))
])
(include_module module: (module_path (module_name) @extends .))
((application_expression function: (value_path (value_name) @_raise) argument: [
    (constructor_path (constructor_name) @throws)
    (parenthesized_expression (application_expression function: (constructor_path (constructor_name) @throws)))
  ])
  (#any-of? @_raise "raise" "raise_notrace"))
(application_expression argument: (value_path (value_name) @passed))
