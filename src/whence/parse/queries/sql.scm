(create_table [(keyword_table) (keyword_exists)] . (object_reference) @name) @struct
(create_table (column_definitions (column_definition name: (_) @name) @field))
(create_view [(keyword_view) (keyword_exists)] . (object_reference) @name) @type
(create_materialized_view [(keyword_view) (keyword_exists)] . (object_reference) @name) @type
(create_type (keyword_type) . (object_reference) @name) @type
(create_type (object_reference) @name (keyword_enum)) @enum
(create_function (keyword_function) . (object_reference name: (_) @name) (function_arguments) @parameters (function_body) @body) @function
(create_trigger (keyword_trigger) . (object_reference name: (_) @name)) @function
(create_index column: (_) @name) @constant
(create_sequence [(keyword_sequence) (keyword_exists)] . (object_reference) @name) @constant

; Mentions
(invocation (object_reference name: (_) @call))
(create_trigger (keyword_function) . (object_reference name: (_) @call))
(create_extension) @import
(comment) @comment
(marginalia) @comment

; Relations
(column_definition (keyword_references) . (object_reference name: (_) @references))
(constraint (keyword_references) . (object_reference name: (_) @references))
(relation (object_reference name: (_) @references))
(insert (object_reference name: (_) @references))
