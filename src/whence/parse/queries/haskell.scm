(header module: (module) @name) @namespace
(data_type name: (name) @name) @type
(newtype name: (name) @name) @type
(type_synomym name: (name) @name) @type
(type_family name: (name) @name) @type
(data_family name: (name) @name) @type
(class name: (name) @name) @class
; An instance belongs to the type it is for.
(instance name: [(name) @implements (qualified id: (name) @implements)] patterns: (type_patterns . [
  (name) @name
  (qualified id: (name) @name)
  (parens (name) @name)
  (parens (apply constructor: (name) @name))
  (parens (apply constructor: (apply constructor: (name) @name)))
  (parens (apply constructor: (apply constructor: (apply constructor: (name) @name))))
  (list (_) @name)
])) @scope
(field name: (field_name (variable) @name)) @field
(declarations (function name: [(variable) @name (prefix_id (operator) @name)]) @function)
(declarations (function (infix operator: [(operator) @name (infix_id (variable) @name)])) @function)
(declarations (bind name: [(variable) @name (prefix_id (operator) @name)]) @function)
(declarations (bind name: (variable) @name
  match: (match expression: [(literal) (list) (tuple)])) @constant)
(declarations (foreign_import signature: (signature name: (variable) @name)) @function)
(declarations (pattern_synonym (equation synonym: (apply function: (constructor) @name))) @function)
(class_declarations (signature name: [(variable) @name (prefix_id (operator) @name)]) @method)
(class_declarations (default_signature (signature name: (variable) @name)) @method)
(instance_declarations (function name: [(variable) @name (prefix_id (operator) @name)]) @method)
(instance_declarations (function (infix operator: [(operator) @name (infix_id (variable) @name)])) @method)
(instance_declarations (bind name: [(variable) @name (prefix_id (operator) @name)]) @method)

; Mentions
(apply function: (variable) @call)
(apply function: (qualified id: (variable) @call))
(exp (variable) @call)
(infix_id [(variable) @call (qualified id: (variable) @call)])
(import) @import
(comment) @comment
(haddock) @comment
; A type signature stands above its definition and is part of it.
(declarations (signature) @attribute)
(declarations (pragma) @attribute)
(instance_declarations (pragma) @attribute)

; Relations
(deriving classes: [(name) @implements (tuple (name) @implements)])
(class context: (context context: [
  (apply constructor: (name) @extends)
  (parens (apply constructor: (name) @extends))
  (tuple (apply constructor: (name) @extends))
]))
((apply function: (variable) @_throw argument: [
    (constructor) @throws
    (parens expression: (constructor) @throws)
    (parens expression: (apply function: (constructor) @throws))
  ])
  (#any-of? @_throw "throw" "throwIO" "throwM" "throwError" "throwSTM"))
(apply argument: (variable) @passed)
