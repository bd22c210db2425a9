"""Words that targets know: put into inputs, they lead further in than letters that are drawn one by one."""

from __future__ import annotations

#: Of the query language and patterns.
QUERY = (
    b"path:", b"lang:", b"language:", b"kind:", b"sym:", b"callers:", b"callees:", b"in:", b"-path:", b"NOT", b"OR", b"AND", b"(", b")",
    b"-(", b'"', b'-"', b"/", b"/i", b"\\/", b"in:notes", b"in:docs", b"lang:go", b"lang:python", b"kind:class", b"kind:function",
    b"path:src/**", b"path:*.py",
    b"path:*a*a*a", b"*a", b"**/a/", b"path:[z-a]*",
    b"sym:Cart.total", b"callers:pay", b"-test", b"/a+b/", b"/[a-z]/", b"\\d+", b"(?i)", b'path:"', b"*",
    b"?", b"[!", b"[:alpha:]", b"\\<", b"\\>", b"{2,3}", b"(?P<n>a)", b"(?#c)", b"\\x41", b"\\u0041", b"\\N{DIGIT}", b"|", b"^", b"$",
    b"//", b"https://", b"::", b"->", b"C++", b"c#", b".", b",",
)  # fmt: skip
#: Of what is pasted around a question.
PASTES = (
    b"```", b"~~~", b"<user>", b"</user>", b"<system-reminder>", b"</context>", b'{"query":"x"}',
    b'{"messages":[{"role":"user","content":"q"}]}', b"User:", b"Assistant:", b"Human:", b"question:", b"[INST]", b"[/INST]",
    b"<|im_start|>", b"ERROR", b"WARN", b"2026-11-16T10:30:00Z", b"at\tfoo(Bar.java:12)", b">>>", b"$", b"#1", b"0x00007f", b"panic:",
    b"goroutine", b"File", b'"a.py",', b"line", b"Caused\tby:", b"###", b"Steps", b"**Describe**", b"-", b"[", b"]", b"1|", b"\\n",
    b"\\u0000", b"&lt;", b"<![CDATA[", b"]]>", b"<!--", b"-->", b"you", b"are", b"act", b"as",
)  # fmt: skip
#: Of front matter.
NOTES = (
    b"---\n", b"\n---\n", b"topic: ", b"kind: handoff", b"tags: [a, b]", b"tags:\n  - a\n", b"about:\n  - code: x\n",
    b"created: 2026-01-31", b"valid-until: ", b"title: ", b"date: ", b"# comment\n", b"&a ", b"*a", b"!!str ", b"{a: b}", b"[", b"]",
    b": ", b"- ", b"? ", b"> ", b"\\u2028", b"%YAML 1.2", b"'", b'"', b"\r\n", b"true", b"null", b"~", b"2026-02-30",
    b"2026-01-31T23:59:60+14:00", b"<<: ",
)  # fmt: skip
#: Of settings, in files and elsewhere.
SETTINGS = (
    b"[search]\n", b"[index]\n", b"[profiles.default]\n", b"[[x]]\n", b"k = 5\n", b"search.k=5", b"profile = ", b'"""', b"'''", b"= ",
    b"true", b"nan", b"inf", b"1979-05-27T07:32:00Z", b"{a = 1}", b"[1,2]", b"index.model=late:x", b"WHENCE_SEARCH_K=7",
    b"WHENCE_NO_SUCH=1", b'model = "none"\n', b"\x00", b"\n", b".", b"\\u0000", b"max_file_bytes = ", b"memory.language=",
    b"0x7fffffffffffffff", b"search", b"index", b"memory", b"learn", b"context", b"mcp.budget=",
)  # fmt: skip
#: Of transcripts.
TALKS = (
    b'{"type":"user","message":{"role":"user","content":"x"}}', b'"timestamp":"2026-01-31T09:30:00Z"', b'"sessionId":"s"', b'"role"',
    b'"content"', b'[{"type":"text","text":"x"}]', b'"messages"', b'"mapping"', b"null", b"true", b"1e999", b"{", b"}", b"[", b"]",
    b",", b":", b'"', b"\\ud800", b'"cwd":"/a"', b'"payload"', b'"speaker"', b'"created_at":1700000000', b"\n",
)  # fmt: skip
#: Of traces.
SPANS = (
    b'{"resourceSpans":[', b'{"scopeSpans":[', b'{"spans":[', b'{"traceId":"01","spanId":"02","parentSpanId":"03"', b'"attributes":[',
    b'{"key":"code.function","value":{"stringValue":"f"}}', b'"endTimeUnixNano":"170"', b'"kind":2', b"]", b"}", b",", b"null",
    b"1e999", b'"\\ud800"', b"-", b"resource_spans", b"{", b"[", b":", b'"',
)  # fmt: skip
#: Of secrets.
SECRETS = (
    b"password = ", b"token: ", b"AKIA", b"ghp_", b"sk-", b"xoxb-", b"eyJ", b"-----BEGIN RSA PRIVATE KEY-----\n",
    b"-----END RSA PRIVATE KEY-----", b"://user:pw@", b"Authorization: Bearer ", b"AbCdEf0123456789AbCdEf0123456789", b"=", b":", b'"',
    b"'", b"\n", b"_secret", b"${X}", b"curl -u a:b ", b"AIza", b"api_key", b"PRIVATE", b"=>", b":=", b"==",
)  # fmt: skip
#: Of times.
DATES = (
    b"yesterday", b"in May 2023", b"two weeks ago", b"between March and June", b"last ", b"next ", b"2023-05-08", b"8/5/2023",
    b"2023-w12", b"Q3 2024", b"since ", b"until ", b"on Monday", b"the ", b"summer", b"Date: ", b"first week of", b"end of ", b", ",
    b"-", b" to ", b"9999-12-31", b"0001-01-01", b"31 February", b"hundred", b"several", b"day before", b"a couple of", b"'s", b"th",
    b"2000",
)  # fmt: skip
#: Of source in any language.
SOURCE = (
    b"class ", b"def ", b"fn ", b"func ", b"function ", b"struct ", b"impl ", b"import ", b"#include <a>\n", b"namespace ",
    b"template<", b"=> ", b"{", b"}", b"(", b")", b"[", b"]", b";", b"\n", b"  ", b'"', b"'", b"`", b"/*", b"*/", b"//", b"#", b"<!--",
    b"-->", b"<?php ", b"begin", b"end", b"module ", b"@", b"\\", b"$", b"=", b"0x", b'r#"', b"'''", b"do ", b"where", b"<div>",
    b"</div>", b"<script>", b"---", b"~", b"::", b"&", b"*", b"\xff", b":- ", b"\t",
)  # fmt: skip
#: Of ignore rules.
IGNORED = (
    b"*", b"**", b"/", b"!", b"[", b"]", b"\\", b"?", b"\n", b"#", b" ", b"a/**/b", b"[!a]", b"[z-a]",
)  # fmt: skip
#: Of messages to the server: pieces of them, and paths that lead out of the root.
MESSAGES = (
    b'"id":null', b'"id":1.5', b'"id":[]', b'"id":"x"', b'"jsonrpc":"1.0"', b'"method":', b'"params":', b'"arguments":', b'"name":',
    b"{", b"}", b"[", b"]", b",", b":", b'"', b"null", b"true", b"1e999", b"-1", b"0", b'"search"', b'"context"', b'"related"',
    b'"graph"', b'"remember"', b'"recall"', b'"feedback"', b'"query":', b'"path":"../outside"', b'"path":"/"', b'"path":"link"',
    b'"path":"shop/../../outside"', b'"place":"../outside/a.py:1"', b'"files":["link/x"]', b'"diff":"HEAD"',
    b'"diff":"--output=../outside/written"', b'"diff":"HEAD; ls"', b'"root":', b'"root":"/"', b'"k":99999999', b'"budget":50',
    b"\\ud800", b"\\u0000", b"whence://note/../../outside", b"whence://unit/%2e%2e/outside", b"whence://status", b"whence://[",
    b"..%2f", b"callers:", b"/(a", b"b)/", b"in:notes", b"callers", b"impact", b"tests", b"\xff", b'"_meta":{"progressToken":1}',
    b"initialize", b"notifications/initialized", b"tools/call", b"tools/list", b"resources/read", b"prompts/get",
    b"completion/complete", b"logging/setLevel", b'"symbol":"shop/cart.py:5"', b'"symbol":', b'"since":"yesterday"',
    b'"until":"0000-00-00"', b'"about":["../outside#x"]', b"\n",
)  # fmt: skip
