(function_declaration name: (identifier) @name (parameters) @parameters) @function
; A function that returns a struct is a generic type.
(function_declaration
  name: (identifier) @name (parameters) @parameters
  body: (block (expression_statement (return_expression [(struct_declaration) (union_declaration)])))) @struct
; Values, but not the names that imports are given.
(source_file (variable_declaration . (identifier) @name (_) @_value .) @constant
  (#not-match? @_value "^@import"))
(struct_declaration (variable_declaration . (identifier) @name (_) @_value .) @constant
  (#not-match? @_value "^@import"))
(union_declaration (variable_declaration . (identifier) @name) @constant)
(enum_declaration (variable_declaration . (identifier) @name) @constant)
(variable_declaration . (identifier) @name (struct_declaration)) @struct
(variable_declaration . (identifier) @name (enum_declaration)) @enum
(variable_declaration . (identifier) @name (union_declaration)) @union
(variable_declaration . (identifier) @name (opaque_declaration)) @type
(variable_declaration . (identifier) @name (error_set_declaration)) @enum
(struct_declaration (container_field name: (identifier) @name type: (_)) @field)
(union_declaration (container_field name: (identifier) @name type: (_)) @field)
(source_file (container_field name: (identifier) @name type: (_)) @field)
(test_declaration (string) @name (block) @body) @function

; Mentions
(call_expression function: (identifier) @call)
(call_expression function: (field_expression member: (identifier) @call))
((builtin_function (builtin_identifier) @_builtin (arguments (string))) @import
  (#eq? @_builtin "@import"))
(comment) @comment

; Relations
(return_expression (error_type (identifier) @throws))
(call_expression function: (_) (identifier) @passed)
