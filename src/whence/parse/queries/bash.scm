(function_definition name: (word) @name) @function
(program (variable_assignment name: (variable_name) @name) @constant)
(program (declaration_command (variable_assignment name: (variable_name) @name)) @constant)

; Mentions
(command name: (command_name (word) @call))
((command name: (command_name (word) @_source)) @import
  (#any-of? @_source "source" "."))
(comment) @comment

; Relations
((command name: (command_name (word) @_trap) argument: (word) @passed) (#any-of? @_trap "trap" "time" "exec"))
