; Definitions: the node, its @name; the kind is the capture on the node.
(namespace_definition name: (_) @name) @namespace
(class_specifier name: [(type_identifier) @name (template_type name: (type_identifier) @name) (qualified_identifier) @name] body: (_)) @class
(struct_specifier name: [(type_identifier) @name (template_type name: (type_identifier) @name) (qualified_identifier) @name] body: (_)) @struct
(union_specifier name: [(type_identifier) @name (template_type name: (type_identifier) @name) (qualified_identifier) @name] body: (_)) @union
(enum_specifier name: [(type_identifier) (qualified_identifier)] @name body: (_)) @enum
(alias_declaration name: (type_identifier) @name) @type
(concept_definition name: (identifier) @name) @type
(type_definition type: (struct_specifier name: (type_identifier) @name body: (_))) @struct
(type_definition type: (struct_specifier !name body: (_) @body) . declarator: (type_identifier) @name) @struct
(type_definition type: (union_specifier name: (type_identifier) @name body: (_))) @union
(type_definition type: (union_specifier !name body: (_) @body) . declarator: (type_identifier) @name) @union
(type_definition type: (enum_specifier name: (type_identifier) @name body: (_))) @enum
(type_definition type: (enum_specifier !name body: (_) @body) . declarator: (type_identifier) @name) @enum
(type_definition type: [(enum_specifier !body) (primitive_type) (qualified_identifier) (sized_type_specifier) (struct_specifier !body) (template_type) (type_identifier) (union_specifier !body)] . declarator: (type_identifier) @name) @type
(type_definition type: [(enum_specifier !body) (primitive_type) (qualified_identifier) (sized_type_specifier) (struct_specifier !body) (template_type) (type_identifier) (union_specifier !body)] . declarator: (pointer_declarator declarator: (type_identifier) @name)) @type
(type_definition type: [(enum_specifier !body) (primitive_type) (qualified_identifier) (sized_type_specifier) (struct_specifier !body) (template_type) (type_identifier) (union_specifier !body)] . declarator: (array_declarator declarator: (type_identifier) @name)) @type
(type_definition type: [(enum_specifier !body) (primitive_type) (qualified_identifier) (sized_type_specifier) (struct_specifier !body) (template_type) (type_identifier) (union_specifier !body)] . declarator: (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (type_identifier) @name)) parameters: (_) @parameters)) @type
(type_definition type: [(enum_specifier !body) (primitive_type) (qualified_identifier) (sized_type_specifier) (struct_specifier !body) (template_type) (type_identifier) (union_specifier !body)] . declarator: [(function_declarator declarator: [(type_identifier) @name (parenthesized_declarator (type_identifier) @name)] parameters: (_) @parameters) (pointer_declarator declarator: (function_declarator declarator: [(type_identifier) @name (parenthesized_declarator [(type_identifier) @name (pointer_declarator declarator: (type_identifier) @name)])] parameters: (_) @parameters))]) @type

; Functions and methods: with a body, or only declared.
((function_definition declarator: (_) @callable) @function (#not-match? @callable "^[A-Z_]*TEST(_[A-Z]+)*[(]"))
((function_definition !type declarator: (function_declarator declarator: (identifier) @_test parameters: (parameter_list . (parameter_declaration type: (type_identifier) @parent) . (parameter_declaration type: (type_identifier) @name) .))) @function (#match? @_test "^[A-Z_]*TEST(_[A-Z]+)*$"))
; A class with a macro before its name, which the grammar takes for a function.
(function_definition type: (class_specifier !body) . declarator: (identifier) @name) @class
(function_definition type: (class_specifier !body) (ERROR . (identifier) @name) declarator: [(identifier) (qualified_identifier) (template_function)]) @class
(function_definition type: (struct_specifier !body) . declarator: (identifier) @name) @struct
(function_definition type: (struct_specifier !body) (ERROR . (identifier) @name) declarator: [(identifier) (qualified_identifier) (template_function)]) @struct
((function_definition type: (type_identifier) declarator: (identifier) @_class (ERROR . (identifier) @name)) @class (#any-of? @_class "class" "struct"))
(function_definition declarator: (operator_cast) @name) @function
(declaration declarator: (function_declarator declarator: [(destructor_name) (identifier) (operator_name) (qualified_identifier)] @name parameters: (_) @parameters)) @function
(declaration declarator: (pointer_declarator declarator: (function_declarator declarator: [(destructor_name) (identifier) (operator_name) (qualified_identifier)] @name parameters: (_) @parameters))) @function
(declaration declarator: (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: [(destructor_name) (identifier) (operator_name) (qualified_identifier)] @name parameters: (_) @parameters)))) @function
(declaration declarator: (reference_declarator (function_declarator declarator: [(destructor_name) (identifier) (operator_name) (qualified_identifier)] @name parameters: (_) @parameters))) @function
(field_declaration declarator: (function_declarator declarator: [(field_identifier) (operator_name)] @name parameters: (_) @parameters)) @method
(field_declaration declarator: (pointer_declarator declarator: (function_declarator declarator: [(field_identifier) (operator_name)] @name parameters: (_) @parameters))) @method
(field_declaration declarator: (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: [(field_identifier) (operator_name)] @name parameters: (_) @parameters)))) @method
(field_declaration declarator: (reference_declarator (function_declarator declarator: [(field_identifier) (operator_name)] @name parameters: (_) @parameters))) @method
(preproc_function_def name: (identifier) @name) @macro
(preproc_def name: (identifier) @name value: (_)) @constant

; `template <...>` widens what it heads; the kind is that of the narrower node.
(template_declaration [(class_specifier name: [(type_identifier) @name (template_type name: (type_identifier) @name) (qualified_identifier) @name] body: (_)) (struct_specifier name: [(type_identifier) @name (template_type name: (type_identifier) @name) (qualified_identifier) @name] body: (_)) (union_specifier name: [(type_identifier) @name (template_type name: (type_identifier) @name) (qualified_identifier) @name] body: (_))]) @class
(template_declaration [(alias_declaration name: (type_identifier) @name) (concept_definition name: (identifier) @name)]) @type
(template_declaration (_ declarator: (_) @callable)) @function

; Fields and variables, by the first name of each declaration: what the @declarator comes down to, unless that is a function.
(field_declaration type: (_) . declarator: (_) @declarator) @field
((translation_unit (declaration type: (_) . declarator: (_) @declarator) @constant) (#not-match? @declarator "^(class|enum|struct|union)$"))
((declaration_list (declaration type: (_) . declarator: (_) @declarator) @constant) (#not-match? @declarator "^(class|enum|struct|union)$"))
((preproc_if (declaration type: (_) . declarator: (_) @declarator) @constant) (#not-match? @declarator "^(class|enum|struct|union)$"))
((preproc_ifdef (declaration type: (_) . declarator: (_) @declarator) @constant) (#not-match? @declarator "^(class|enum|struct|union)$"))
((preproc_else (declaration type: (_) . declarator: (_) @declarator) @constant) (#not-match? @declarator "^(class|enum|struct|union)$"))

; Mentions
(call_expression function: (identifier) @call)
(call_expression function: (field_expression field: [(field_identifier) @call (template_method name: (field_identifier) @call)]))
(call_expression function: (template_function name: (identifier) @call))
(call_expression function: (qualified_identifier name: [(identifier) @call (template_function name: (identifier) @call)]))
(call_expression function: (qualified_identifier name: (qualified_identifier name: [(identifier) @call (template_function name: (identifier) @call)])))
(call_expression function: (qualified_identifier name: (qualified_identifier name: (qualified_identifier name: [(identifier) @call (template_function name: (identifier) @call)]))))
(new_expression type: [(type_identifier) @call (template_type name: (type_identifier) @call) (qualified_identifier name: (type_identifier) @call)])
(preproc_include) @import
(using_declaration) @import
(comment) @comment

; Relations
(base_class_clause [
  (type_identifier) @extends
  (template_type name: (type_identifier) @extends)
  (qualified_identifier name: [(type_identifier) @extends (template_type name: (type_identifier) @extends)])
  (qualified_identifier name: (qualified_identifier name: [(type_identifier) @extends (template_type name: (type_identifier) @extends)]))
])
(throw_statement [
  (call_expression function: [(identifier) @throws (qualified_identifier name: (identifier) @throws)])
  (compound_literal_expression type: [(type_identifier) @throws (qualified_identifier name: (type_identifier) @throws)])
])
(argument_list [(identifier) @passed (pointer_expression argument: (identifier) @passed)])
(argument_list (pointer_expression argument: (qualified_identifier name: (identifier) @references)))
(initializer_list [(identifier) @passed (pointer_expression argument: (identifier) @passed)])
(initializer_pair value: [(identifier) @passed (pointer_expression argument: (identifier) @passed)])

; Values
(declaration declarator: [(identifier) @targets (pointer_declarator declarator: (identifier) @targets) (reference_declarator (identifier) @targets) (array_declarator declarator: (identifier) @targets)])
(init_declarator declarator: [(identifier) @targets (pointer_declarator declarator: (identifier) @targets) (reference_declarator (identifier) @targets) (array_declarator declarator: (identifier) @targets)])
(assignment_expression left: (identifier) @targets)
(field_declaration declarator: [(field_identifier) @targets (pointer_declarator declarator: (field_identifier) @targets) (reference_declarator (field_identifier) @targets) (array_declarator declarator: (field_identifier) @targets)])
(for_range_loop declarator: [(identifier) @targets (pointer_declarator declarator: (identifier) @targets) (reference_declarator (identifier) @targets)])
(alias_declaration name: (type_identifier) @targets)
(lambda_expression declarator: (abstract_function_declarator parameters: (parameter_list (parameter_declaration declarator: [(identifier) @targets (pointer_declarator declarator: (identifier) @targets) (reference_declarator (identifier) @targets)]))))
(initializer_pair designator: (field_designator (field_identifier) @slots) value: [(identifier) (pointer_expression argument: (identifier))])
