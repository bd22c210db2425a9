; Mentions
(script_element (raw_text) @embedded.typescript)
(comment) @comment
