; Definitions: the node, its @name; the kind is the capture on the node.
(function_definition declarator: (_) @callable) @function
; Prototypes, for headers; one that is `static` only announces what follows in the same file.
((declaration declarator: (function_declarator declarator: (identifier) @name parameters: (_) @parameters)) @function (#not-match? @function "^static"))
((declaration declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name parameters: (_) @parameters))) @function (#not-match? @function "^static"))
((declaration declarator: (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name parameters: (_) @parameters)))) @function (#not-match? @function "^static"))
(preproc_function_def name: (identifier) @name) @macro
(preproc_def name: (identifier) @name value: (_)) @constant

; Types. A `typedef` of a body goes by the name it gives, a body of its own by its tag.
(type_definition type: (struct_specifier body: (_) @body) . declarator: (type_identifier) @name) @struct
(type_definition type: (union_specifier body: (_) @body) . declarator: (type_identifier) @name) @union
(type_definition type: (enum_specifier body: (_) @body) . declarator: (type_identifier) @name) @enum
(type_definition type: (struct_specifier body: (_) @body) . declarator: (pointer_declarator declarator: (type_identifier) @name)) @struct
(type_definition type: [(enum_specifier !body) (macro_type_specifier) (primitive_type) (sized_type_specifier) (struct_specifier !body) (type_identifier) (union_specifier !body)] . declarator: (type_identifier) @name) @type
(type_definition type: [(enum_specifier !body) (macro_type_specifier) (primitive_type) (sized_type_specifier) (struct_specifier !body) (type_identifier) (union_specifier !body)] . declarator: (pointer_declarator declarator: (type_identifier) @name)) @type
(type_definition type: [(enum_specifier !body) (macro_type_specifier) (primitive_type) (sized_type_specifier) (struct_specifier !body) (type_identifier) (union_specifier !body)] . declarator: (array_declarator declarator: (type_identifier) @name)) @type
(type_definition type: [(enum_specifier !body) (macro_type_specifier) (primitive_type) (sized_type_specifier) (struct_specifier !body) (type_identifier) (union_specifier !body)] . declarator: (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (type_identifier) @name)) parameters: (_) @parameters)) @type
(type_definition type: [(enum_specifier !body) (macro_type_specifier) (primitive_type) (sized_type_specifier) (struct_specifier !body) (type_identifier) (union_specifier !body)] . declarator: [(function_declarator declarator: [(type_identifier) @name (parenthesized_declarator (type_identifier) @name)] parameters: (_) @parameters) (pointer_declarator declarator: (function_declarator declarator: [(type_identifier) @name (parenthesized_declarator [(type_identifier) @name (pointer_declarator declarator: (type_identifier) @name)])] parameters: (_) @parameters))]) @type
(translation_unit (struct_specifier name: (type_identifier) @name body: (_)) @struct)
(preproc_if (struct_specifier name: (type_identifier) @name body: (_)) @struct)
(preproc_ifdef (struct_specifier name: (type_identifier) @name body: (_)) @struct)
(preproc_else (struct_specifier name: (type_identifier) @name body: (_)) @struct)
(declaration_list (struct_specifier name: (type_identifier) @name body: (_)) @struct)
(declaration type: (struct_specifier name: (type_identifier) @name body: (_)) @struct)
(field_declaration type: (struct_specifier name: (type_identifier) @name body: (_)) @struct)
(translation_unit (union_specifier name: (type_identifier) @name body: (_)) @union)
(preproc_if (union_specifier name: (type_identifier) @name body: (_)) @union)
(preproc_ifdef (union_specifier name: (type_identifier) @name body: (_)) @union)
(preproc_else (union_specifier name: (type_identifier) @name body: (_)) @union)
(declaration_list (union_specifier name: (type_identifier) @name body: (_)) @union)
(declaration type: (union_specifier name: (type_identifier) @name body: (_)) @union)
(field_declaration type: (union_specifier name: (type_identifier) @name body: (_)) @union)
(translation_unit (enum_specifier name: (type_identifier) @name body: (_)) @enum)
(preproc_if (enum_specifier name: (type_identifier) @name body: (_)) @enum)
(preproc_ifdef (enum_specifier name: (type_identifier) @name body: (_)) @enum)
(preproc_else (enum_specifier name: (type_identifier) @name body: (_)) @enum)
(declaration_list (enum_specifier name: (type_identifier) @name body: (_)) @enum)
(declaration type: (enum_specifier name: (type_identifier) @name body: (_)) @enum)
(field_declaration type: (enum_specifier name: (type_identifier) @name body: (_)) @enum)

; Variables of the file, by the first name of each declaration: what the @declarator comes down to, unless that is a function.
((translation_unit (declaration type: (_) . declarator: (_) @declarator) @constant) (#not-match? @declarator "^(enum|struct|union)$"))
((preproc_if (declaration type: (_) . declarator: (_) @declarator) @constant) (#not-match? @declarator "^(enum|struct|union)$"))
((preproc_ifdef (declaration type: (_) . declarator: (_) @declarator) @constant) (#not-match? @declarator "^(enum|struct|union)$"))
((preproc_else (declaration type: (_) . declarator: (_) @declarator) @constant) (#not-match? @declarator "^(enum|struct|union)$"))

; Mentions
(call_expression function: (identifier) @call)
(call_expression function: (field_expression field: (field_identifier) @call))
(preproc_include) @import
(comment) @comment

; Relations
; Functions given by name: to a call, or in a table of operations.
(argument_list [(identifier) @passed (pointer_expression argument: (identifier) @passed)])
(initializer_list [(identifier) @passed (pointer_expression argument: (identifier) @passed)])
(initializer_pair value: [(identifier) @passed (pointer_expression argument: (identifier) @passed)])

; Values
(declaration declarator: [(identifier) @targets (pointer_declarator declarator: (identifier) @targets) (array_declarator declarator: (identifier) @targets)])
(init_declarator declarator: [(identifier) @targets (pointer_declarator declarator: (identifier) @targets) (array_declarator declarator: (identifier) @targets)])
(assignment_expression left: (identifier) @targets)
(field_declaration declarator: [(field_identifier) @targets (pointer_declarator declarator: (field_identifier) @targets) (array_declarator declarator: (field_identifier) @targets)])
(initializer_pair designator: (field_designator (field_identifier) @slots) value: [(identifier) (pointer_expression argument: (identifier))])
