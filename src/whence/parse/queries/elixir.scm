; Everything in Elixir is a call: which one decides what it defines.
(call target: (identifier) @_define (arguments . (alias) @name) (do_block) @body
  (#eq? @_define "defmodule")) @module
(call target: (identifier) @_define (arguments . (alias) @name) (do_block) @body
  (#eq? @_define "defprotocol")) @interface
; An implementation belongs to the type it is for.
(call target: (identifier) @_define
  (arguments . (alias) @implements (keywords . (pair value: (alias) @name)))
  (do_block)
  (#eq? @_define "defimpl")) @scope
(call target: (identifier) @_define
  (arguments . [
    (identifier) @name
    (call target: (identifier) @name (arguments) @parameters)
    (binary_operator left: (identifier) @name operator: "when")
    (binary_operator left: (call target: (identifier) @name (arguments) @parameters) operator: "when")
  ])
  (do_block)? @body
  (#any-of? @_define "def" "defp" "defdelegate" "defguard" "defguardp")) @function
(call target: (identifier) @_define
  (arguments . [
    (identifier) @name
    (call target: (identifier) @name (arguments) @parameters)
    (binary_operator left: (call target: (identifier) @name (arguments) @parameters) operator: "when")
  ])
  (do_block)? @body
  (#any-of? @_define "defmacro" "defmacrop")) @macro
(unary_operator operand: (call
  target: (identifier) @_attribute
  (arguments (binary_operator left: [(identifier) @name (call target: (identifier) @name)]))
  (#any-of? @_attribute "type" "typep" "opaque"))) @type
(unary_operator operand: (call
  target: (identifier) @_attribute
  (arguments (binary_operator left: (call target: (identifier) @name (arguments) @parameters)))
  (#any-of? @_attribute "callback" "macrocallback"))) @function
(do_block (unary_operator operand: (call target: (identifier) @name (arguments))) @constant
  (#not-match? @name "^(module|type)?doc$|^(spec|typep?|opaque|impl|callback|macrocallback|behaviour|derive|deprecated|dialyzer|compile|optional_callbacks|enforce_keys|tag|moduletag|describetag|before_compile|after_compile|on_load|on_definition|external_resource|since)$"))

; Mentions
(call target: (identifier) @call
  (#not-match? @call "^(def[a-z]*|alias|import|use|require|(module|type)?doc|spec|typep?|opaque|impl|behaviour|callback|macrocallback|if|unless|case|cond|with|for|quote|unquote)$"))
(call target: (dot right: (identifier) @call))
((call target: (identifier) @_directive (arguments)) @import
  (#any-of? @_directive "alias" "import" "use" "require"))
(comment) @comment
(unary_operator operand: (call target: (identifier) @_attribute
  (arguments [(string (quoted_content) @doc) (sigil (quoted_content) @doc)]))
  (#any-of? @_attribute "doc" "moduledoc" "typedoc"))
((unary_operator operand: (call target: (identifier) @_attribute)) @attribute
  (#any-of? @_attribute "doc" "typedoc" "spec" "impl" "deprecated" "dialyzer" "since"))

; Relations
((call target: (identifier) @_use (arguments . (alias) @implements)) (#eq? @_use "use"))
(unary_operator operand: (call target: (identifier) @_behaviour (arguments . (alias) @implements)) (#eq? @_behaviour "behaviour"))
((call target: (identifier) @_raise (arguments . (alias) @throws)) (#any-of? @_raise "raise" "reraise"))
(unary_operator operator: "&" operand: (binary_operator left: (identifier) @references operator: "/"))
