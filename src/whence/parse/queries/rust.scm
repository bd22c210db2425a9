; Definitions: the node, its @name; the kind is the capture on the node.
(function_item name: (identifier) @name) @function
(function_signature_item name: (identifier) @name) @function
(struct_item name: (type_identifier) @name) @struct
(enum_item name: (type_identifier) @name) @enum
(union_item name: (type_identifier) @name) @union
(trait_item name: (type_identifier) @name) @trait
(type_item name: (type_identifier) @name) @type
(associated_type name: (type_identifier) @name) @type
(const_item name: (identifier) @name) @constant
(static_item name: (identifier) @name) @constant
(macro_definition name: (identifier) @name) @macro
(mod_item name: (identifier) @name body: (_)) @namespace

; What an `impl` holds belongs to its type.
(impl_item type: [(type_identifier) (primitive_type)] @name) @scope
(impl_item type: (scoped_type_identifier name: (type_identifier) @name)) @scope
(impl_item type: (generic_type type: (type_identifier) @name)) @scope
(impl_item type: (generic_type type: (scoped_type_identifier name: (type_identifier) @name))) @scope
(impl_item type: (reference_type type: [(type_identifier) (primitive_type)] @name)) @scope
(impl_item type: (reference_type type: (generic_type type: (type_identifier) @name))) @scope
(impl_item type: (dynamic_type trait: (type_identifier) @name)) @scope
(impl_item
  trait: [
    (type_identifier) @implements
    (scoped_type_identifier name: (type_identifier) @implements)
    (generic_type type: [(type_identifier) @implements (scoped_type_identifier name: (type_identifier) @implements)])
  ]
  type: [
    (type_identifier) @name
    (scoped_type_identifier name: (type_identifier) @name)
    (generic_type type: [(type_identifier) @name (scoped_type_identifier name: (type_identifier) @name)])
    (reference_type type: [(type_identifier) @name (generic_type type: (type_identifier) @name)])
  ]) @scope

; Mentions
(call_expression function: (identifier) @call)
(call_expression function: (scoped_identifier name: (identifier) @call))
(call_expression function: (field_expression field: (field_identifier) @call))
(generic_function function: (identifier) @call)
(generic_function function: (scoped_identifier name: (identifier) @call))
(generic_function function: (field_expression field: (field_identifier) @call))
(macro_invocation macro: (identifier) @call)
(macro_invocation macro: (scoped_identifier name: (identifier) @call))
(token_tree (identifier) @call . (token_tree . "("))
(use_declaration) @import
(extern_crate_declaration) @import
(mod_item !body) @import
(line_comment) @comment
(block_comment) @comment
(attribute_item) @attribute

; Items wrapped in a macro, such as one that sets a `cfg` for all of them.
(source_file (macro_invocation (token_tree . "{") @embedded.rust))
(source_file (expression_statement (macro_invocation (token_tree . "{") @embedded.rust)))
(declaration_list (macro_invocation (token_tree . "{") @embedded.rust))

; Relations
(trait_item bounds: (trait_bounds [
  (type_identifier) @extends
  (scoped_type_identifier name: (type_identifier) @extends)
  (generic_type type: [(type_identifier) @extends (scoped_type_identifier name: (type_identifier) @extends)])
]))
((attribute_item (attribute (identifier) @_derive arguments: (token_tree (identifier) @implements))) (#eq? @_derive "derive"))
((attribute_item (attribute [(identifier) @decorates (scoped_identifier name: (identifier) @decorates)]))
  (#not-match? @decorates "^(derive|cfg|cfg_attr|allow|deny|warn|expect|doc|inline|must_use|repr|non_exhaustive|ignore|default)$"))
(arguments [(identifier) @passed (scoped_identifier name: (identifier) @passed)])

; Values
(let_declaration pattern: (identifier) @targets)
(let_declaration pattern: [(tuple_struct_pattern (identifier) @targets .) (mut_pattern (identifier) @targets) (ref_pattern (identifier) @targets)])
(let_condition pattern: [(identifier) @targets (tuple_struct_pattern [(identifier) @targets (mut_pattern (identifier) @targets) (ref_pattern (identifier) @targets)] .)])
(for_expression pattern: (identifier) @targets)
(for_expression pattern: (tuple_pattern (identifier) @targets))
(field_declaration name: (field_identifier) @targets)
(assignment_expression left: (identifier) @targets)
(const_item name: (identifier) @targets)
(static_item name: (identifier) @targets)
(closure_parameters [(identifier) @given (reference_pattern (identifier) @given)])
(closure_parameters (parameter pattern: (identifier) @targets))
