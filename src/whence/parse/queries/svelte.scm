(snippet_statement (snippet_start (snippet_name) @name (svelte_raw_text)? @parameters) . (_)? @body) @function

; Mentions
(script_element (raw_text) @embedded.typescript)
(comment) @comment
