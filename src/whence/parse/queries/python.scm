; Definitions: the node, its @name; the kind is the capture on the node.
(class_definition name: (identifier) @name) @class
(function_definition name: (identifier) @name) @function
(decorated_definition definition: (class_definition name: (identifier) @name)) @class
(decorated_definition definition: (function_definition name: (identifier) @name)) @function
(module (expression_statement (assignment left: (identifier) @name)) @constant)
(module (if_statement (block (expression_statement (assignment left: (identifier) @name)) @constant)))
(module (try_statement (block (expression_statement (assignment left: (identifier) @name)) @constant)))
(type_alias_statement left: (type (identifier) @name)) @type
(class_definition body: (block (expression_statement (assignment left: (identifier) @name)) @field))

; Mentions
(call function: (identifier) @call)
(call function: (attribute attribute: (identifier) @call))
(import_statement) @import
(import_from_statement) @import
(future_import_statement) @import
(comment) @comment
(expression_statement . (string) @doc .)

; Relations
(class_definition superclasses: (argument_list [
  (identifier) @extends
  (attribute attribute: (identifier) @extends)
  (subscript value: [(identifier) @extends (attribute attribute: (identifier) @extends)])
]))
(decorator [
  (identifier) @decorates
  (attribute attribute: (identifier) @decorates)
  (call function: [(identifier) @decorates (attribute attribute: (identifier) @decorates)])
])
(raise_statement . (call function: [(identifier) @throws (attribute attribute: (identifier) @throws)]))
((raise_statement . [(identifier) @throws (attribute attribute: (identifier) @throws)]) (#match? @throws "^_*[A-Z]"))
(argument_list [(identifier) @passed (attribute object: (identifier) attribute: (identifier) @passed)])
(keyword_argument value: [(identifier) @passed (attribute object: (identifier) attribute: (identifier) @passed)])
(pair value: [(identifier) @passed (attribute object: (identifier) attribute: (identifier) @passed)])

; Values
(assignment left: [(identifier) (attribute object: (identifier))] @targets)
(assignment left: [(pattern_list (identifier) @targets) (tuple_pattern (identifier) @targets)])
(named_expression name: (identifier) @targets)
(for_statement left: (identifier) @targets)
(for_statement left: [(pattern_list (identifier) @targets) (tuple_pattern (identifier) @targets)])
(for_in_clause left: (identifier) @targets)
(for_in_clause left: [(pattern_list (identifier) @targets) (tuple_pattern (identifier) @targets)])
(as_pattern) @aliased
(return_statement (_) @returned)
(yield . (_) @returned)
