; A section reaches to the next heading of its level and holds the sections below it.
(section . (atx_heading heading_content: (inline) @name)) @section
; An underlined heading opens no section in this grammar: what follows it up to the next heading is its own.
((setext_heading heading_content: (paragraph (inline) @name)) @section
  . [
    (paragraph) (list) (fenced_code_block) (indented_code_block) (block_quote) (pipe_table) (html_block)
    (thematic_break) (link_reference_definition)
  ]* @section)
