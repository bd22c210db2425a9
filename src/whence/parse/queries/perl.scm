(package_statement (package_name) @name) @class
(function_definition name: (identifier) @name) @function
(function_definition name: (identifier) @name (function_signature) @parameters) @function
(function_definition_without_sub name: (identifier) @name) @function
(call_expression_with_sub args: (function_definition_without_sub name: (identifier) @name)) @function
(use_constant_statement constant: (_) @name) @constant
(use_constant_statement value: (hash_ref
  (call_expression_with_bareword function_name: (identifier) @name) . (fat_comma))) @constant
(source_file (binary_expression
  . variable: (variable_declaration variable_name: (_) @name)) @constant)
(source_file (binary_expression
  . variable: (variable_declaration variable_name: (_) @name)
  variable: (anonymous_function)) @function)
(source_file (variable_declaration variable_name: (_) @name) @constant)
; Attributes of a class
(source_file (call_expression_with_spaced_args
  (call_expression_with_bareword function_name: (identifier) @_has)
  args: (arguments . [
    (call_expression_with_bareword function_name: (identifier) @name)
    (string_single_quoted) @name
    (string_double_quoted) @name
  ])) @field
  (#eq? @_has "has"))

; Mentions
(call_expression_with_args_with_brackets (call_expression_with_bareword function_name: (identifier) @call))
(call_expression_with_spaced_args (call_expression_with_bareword function_name: (identifier) @call))
(method_invocation function_name: (identifier) @call)
(use_no_statement) @import
(use_no_if_statement) @import
(use_parent_statement) @import
(require_statement) @import
(comments) @comment
(pod_statement) @comment

; Relations
(use_parent_statement [(word_list_qw (list_item) @extends) (string_single_quoted) @extends (string_double_quoted) @extends])
((use_no_statement package_name: (package_name (identifier) @_base) [
    (word_list_qw (list_item) @extends)
    (string_single_quoted) @extends
    (string_double_quoted) @extends
  ])
  (#eq? @_base "base"))
((call_expression_with_spaced_args (call_expression_with_bareword function_name: (identifier) @_extends)
    args: (arguments [(string_single_quoted) @extends (string_double_quoted) @extends]))
  (#eq? @_extends "extends"))
((call_expression_with_spaced_args (call_expression_with_bareword function_name: (identifier) @_with)
    args: (arguments [(string_single_quoted) @implements (string_double_quoted) @implements]))
  (#eq? @_with "with"))
((call_expression_with_spaced_args (call_expression_with_bareword function_name: (identifier) @_die)
    args: (arguments . (method_invocation package_name: (_) @throws)))
  (#any-of? @_die "die" "croak" "confess"))
(to_reference variable: (call_expression_with_bareword function_name: (identifier) @references))
