; Mentions
(script_element (raw_text) @embedded.javascript)
(comment) @comment
((script_element (start_tag (attribute (attribute_name) @_source)) @import)
  (#eq? @_source "src"))
((element (start_tag (tag_name) @_link (attribute (attribute_name) @_address)) @import)
  (#eq? @_link "link")
  (#eq? @_address "href"))
