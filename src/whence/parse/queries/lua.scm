(function_declaration name: (_) @name) @function
(chunk (assignment_statement
  (variable_list . name: [(identifier) (dot_index_expression)] @name .)
  (expression_list . value: (function_definition parameters: (_) @parameters))) @function)
(chunk (variable_declaration (assignment_statement
  (variable_list . name: (identifier) @name .)
  (expression_list . value: (function_definition parameters: (_) @parameters)))) @function)
; Variables, but not the names that imports are given.
(chunk (variable_declaration (assignment_statement
  (variable_list name: (identifier) @name)
  (expression_list . value: [
    (number) (string) (table_constructor) (nil) (true) (false) (identifier) (binary_expression) (unary_expression)
    (parenthesized_expression)
    (dot_index_expression table: [(identifier) (dot_index_expression)])
    (function_call name: [(dot_index_expression) (method_index_expression)])
  ]))) @constant)
(chunk (variable_declaration (assignment_statement
  (variable_list name: (identifier) @name)
  (expression_list . value: (function_call name: (identifier) @_called)))
  (#not-eq? @_called "require")) @constant)
(chunk (assignment_statement
  (variable_list name: (identifier) @name)
  (expression_list . value: [
    (number) (string) (table_constructor) (nil) (true) (false) (identifier) (binary_expression) (unary_expression)
    (dot_index_expression) (function_call)
  ])) @constant)
(chunk (assignment_statement
  (variable_list name: (dot_index_expression) @name)
  (expression_list . value: [
    (number) (string) (table_constructor) (nil) (true) (false) (identifier) (binary_expression) (unary_expression)
    (dot_index_expression) (function_call)
  ])) @field)
; Functions in a table at the top of the file, or in the one it returns.
(chunk (_ (assignment_statement (expression_list
  (table_constructor (field name: (identifier) @name value: (function_definition parameters: (_) @parameters)) @function)))))
(chunk (assignment_statement (expression_list
  (table_constructor (field name: (identifier) @name value: (function_definition parameters: (_) @parameters)) @function))))
(chunk (return_statement (expression_list
  (table_constructor (field name: (identifier) @name value: (function_definition parameters: (_) @parameters)) @function))))

; Mentions
(function_call name: (identifier) @call)
(function_call name: (dot_index_expression field: (identifier) @call))
(function_call name: (method_index_expression method: (identifier) @call))
((function_call name: (identifier) @_require arguments: (arguments . (string))) @import
  (#any-of? @_require "require" "dofile" "loadfile"))
(comment) @comment

; Relations
; Tables that stand for a class know their parent by `__index`, or are made by it.
((field name: (identifier) @_index value: (identifier) @extends) (#eq? @_index "__index"))
((assignment_statement (expression_list value: (function_call name: (method_index_expression table: (identifier) @extends method: (identifier) @_extend))))
  (#any-of? @_extend "extend" "subclass" "derive"))
(arguments [(identifier) @passed (dot_index_expression table: (identifier) field: (identifier) @passed)])
