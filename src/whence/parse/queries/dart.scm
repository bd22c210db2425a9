; A signature and its body are siblings here: the definition is both.
(class_definition name: (identifier) @name) @class
(mixin_declaration (identifier) @name (class_body) @body) @trait
(enum_declaration name: (identifier) @name) @enum
(extension_declaration name: (identifier) @name) @class
(extension_type_declaration name: (identifier) @name) @class
(type_alias . (type_identifier) @name) @type
(program (function_signature name: (identifier) @name (formal_parameter_list) @parameters) @function
  . (function_body) @function @body)
(program (getter_signature name: (identifier) @name) @function . (function_body) @function @body)
(program (setter_signature name: (identifier) @name) @function . (function_body) @function @body)
(method_signature (function_signature name: (identifier) @name (formal_parameter_list) @parameters)) @method
((method_signature (function_signature name: (identifier) @name (formal_parameter_list) @parameters)) @method
  . (function_body) @method @body)
((method_signature (getter_signature name: (identifier) @name)) @method . (function_body) @method @body)
((method_signature (setter_signature name: (identifier) @name)) @method . (function_body) @method @body)
((method_signature (operator_signature (binary_operator) @name (formal_parameter_list) @parameters)) @method
  . (function_body) @method @body)
((method_signature (constructor_signature name: (identifier) @name . parameters: (_) @parameters)) @method
  . (function_body) @method @body)
((method_signature (factory_constructor_signature (identifier) @name . (formal_parameter_list) @parameters)) @method
  . (function_body) @method @body)
(declaration (function_signature name: (identifier) @name (formal_parameter_list) @parameters)) @method
(declaration (getter_signature name: (identifier) @name)) @method
(declaration (constructor_signature name: (identifier) @name . parameters: (_) @parameters)) @method
(declaration (constant_constructor_signature (identifier) @name . (formal_parameter_list) @parameters)) @method
(declaration (redirecting_factory_constructor_signature (identifier) @name . (formal_parameter_list) @parameters)) @method
(declaration (initialized_identifier_list (initialized_identifier . (identifier) @name))) @field
(declaration (static_final_declaration_list (static_final_declaration . (identifier) @name))) @field
(program (const_builtin) @constant
  . [(type_identifier) (type_arguments) (nullable_type)]*
  . (static_final_declaration_list (static_final_declaration . (identifier) @name)) @constant)
(program (final_builtin) @constant
  . [(type_identifier) (type_arguments) (nullable_type)]*
  . (static_final_declaration_list (static_final_declaration . (identifier) @name)) @constant)
(program [(inferred_type) (type_identifier)] @constant
  . [(type_arguments) (nullable_type)]*
  . (initialized_identifier_list (initialized_identifier . (identifier) @name)) @constant)

; Mentions
((identifier) @call . (selector . (argument_part)))
((selector (unconditional_assignable_selector (identifier) @call)) . (selector . (argument_part)))
((selector (conditional_assignable_selector (identifier) @call)) . (selector . (argument_part)))
(cascade_section (cascade_selector (identifier) @call) . (argument_part))
(const_object_expression (type_identifier) @call)
(new_expression (type_identifier) @call)
(import_or_export) @import
(part_directive) @import
(part_of_directive) @import
(comment) @comment
(documentation_comment) @comment
(annotation) @attribute

; Relations
(superclass . (type_identifier) @extends)
(mixins (type_identifier) @implements)
(interfaces (type_identifier) @implements)
(mixin_declaration (type_identifier) @extends)
(annotation name: [(identifier) @decorates (scoped_identifier (identifier) @decorates .)])
(throw_expression . (identifier) @throws . (selector))
(throw_expression (new_expression (type_identifier) @throws))
(argument . (identifier) @passed .)
