(program (binary_operator lhs: (identifier) @name operator: ["<-" "=" "<<-"]) @constant)
(program (binary_operator
  lhs: [(identifier) @name (string (string_content) @name)]
  rhs: (function_definition parameters: (_) @parameters body: (_) @body)) @function)
(program (binary_operator
  lhs: (extract_operator lhs: (identifier) @parent rhs: (identifier) @name)
  rhs: (function_definition parameters: (_) @parameters body: (_) @body)) @function)
; Classes: R6, reference classes and S4
(program (binary_operator
  lhs: (identifier) @name
  rhs: (call function: [(identifier) @_maker (namespace_operator rhs: (identifier) @_maker)]))  @class
  (#any-of? @_maker "R6Class" "setRefClass" "setClass" "new_class"))
(program (binary_operator rhs: (call arguments: (arguments (argument value: (call arguments: (arguments
  (argument name: (identifier) @name value: (function_definition parameters: (_) @parameters body: (_) @body)) @function)))))))
(program (call function: (identifier) @_maker
  arguments: (arguments . (argument value: (string (string_content) @name)))) @class
  (#any-of? @_maker "setClass" "setRefClass" "R6Class"))
(program (call function: (identifier) @_maker
  arguments: (arguments . (argument value: (string (string_content) @name)))) @function
  (#any-of? @_maker "setGeneric" "setValidity"))
(program (call function: (identifier) @_maker
  arguments: (arguments
    . (argument value: (string (string_content) @name))
    (argument value: (string (string_content) @parent))
    (argument value: (function_definition parameters: (_) @parameters body: (_) @body)))) @method
  (#eq? @_maker "setMethod"))

; Mentions
(call function: (identifier) @call)
(call function: (namespace_operator rhs: (identifier) @call))
(call function: (extract_operator rhs: (identifier) @call))
((call function: (identifier) @_library arguments: (arguments . (argument))) @import
  (#any-of? @_library "library" "require" "requireNamespace" "source"))
(comment) @comment

; Relations
((argument name: (identifier) @_inherit value: [(identifier) @extends (namespace_operator rhs: (identifier) @extends)]) (#eq? @_inherit "inherit"))
((argument name: (identifier) @_contains value: (string (string_content) @extends)) (#eq? @_contains "contains"))
(argument value: (identifier) @passed)
