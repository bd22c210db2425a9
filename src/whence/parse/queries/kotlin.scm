; Definitions: the node, its @name; the kind is the capture on the node.
; The grammar names few fields, so parts of one definition are matched one by one.
(class_declaration "class" name: (identifier) @name) @class
(class_declaration "class" name: (identifier) @name (primary_constructor (class_parameters) @parameters)) @class
(class_declaration "class" name: (identifier) @name (class_body) @body) @class
(class_declaration "class" name: (identifier) @name (enum_class_body) @body) @enum
(class_declaration "interface" name: (identifier) @name) @interface
(class_declaration "interface" name: (identifier) @name (class_body) @body) @interface
(object_declaration name: (identifier) @name) @class
(object_declaration name: (identifier) @name (class_body) @body) @class
(companion_object name: (identifier) @name) @class
(companion_object name: (identifier) @name (class_body) @body) @class
(function_declaration name: (identifier) @name (function_value_parameters) @parameters) @function
(function_declaration name: (identifier) @name (function_body) @body) @function
(function_declaration [(user_type) (nullable_type)] @parent . name: (identifier) @name) @function
(secondary_constructor "constructor" @name (function_value_parameters) @parameters) @method
(secondary_constructor "constructor" @name (block) @body) @method
(type_alias type: (identifier) @name) @type
(source_file (property_declaration (variable_declaration . (identifier) @name)) @constant)
(source_file (property_declaration [(user_type) (nullable_type)] @parent . (variable_declaration . (identifier) @name)) @constant)
(class_body (property_declaration (variable_declaration . (identifier) @name)) @field)
(enum_class_body (property_declaration (variable_declaration . (identifier) @name)) @field)

; Mentions
(call_expression . (identifier) @call)
(call_expression . (navigation_expression (identifier) @call .))
(delegation_specifier (constructor_invocation (user_type (identifier) @call .)))
(import) @import
(line_comment) @comment
(block_comment) @comment
; An annotation that the grammar takes for an expression of its own.
(source_file (annotated_expression) @attribute)
; A declaration after annotations that the grammar takes for words of an expression.
(annotated_expression (infix_expression) @misread)

; Relations
; A name may have its package before it and type arguments after it.
(delegation_specifier (constructor_invocation [(user_type (identifier) @extends .) (user_type (identifier) @extends . (type_arguments))]))
(class_declaration "class" (delegation_specifiers (delegation_specifier (user_type (identifier) @implements .))))
(class_declaration "class" (delegation_specifiers (delegation_specifier (user_type (identifier) @implements . (type_arguments)))))
(explicit_delegation . [(user_type (identifier) @implements .) (user_type (identifier) @implements . (type_arguments))])
(object_declaration (delegation_specifiers (delegation_specifier (user_type (identifier) @implements .))))
(object_declaration (delegation_specifiers (delegation_specifier (user_type (identifier) @implements . (type_arguments)))))
(class_declaration "interface" (delegation_specifiers (delegation_specifier (user_type (identifier) @extends .))))
(class_declaration "interface" (delegation_specifiers (delegation_specifier (user_type (identifier) @extends . (type_arguments)))))
(annotation (user_type (identifier) @decorates .))
(annotation (constructor_invocation (user_type (identifier) @decorates .)))
(annotation (constructor_invocation (user_type (identifier) @decorates . (type_arguments))))
(throw_expression (call_expression . [(identifier) @throws (navigation_expression (identifier) @throws .)]))
(callable_reference (identifier) @references .)
(value_argument (navigation_expression (_) . (identifier) @passed .))

; Values
(variable_declaration . (identifier) @targets)
(assignment . (identifier) @targets)
(lambda_parameters (variable_declaration . (identifier) @given))
(return_expression (_) @returned)
(function_body "=" (_) @returned)
