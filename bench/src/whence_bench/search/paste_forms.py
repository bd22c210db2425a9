"""Pastes around a question, made with a seed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from whence_bench.search.paste_texts import Bank

#: Letters of a prompt: the shortest and the longest.
SIZES = (1_000, 20_000)


@dataclass(frozen=True, slots=True)
class Around:
    """What a form may put around a question: chance, texts, other questions to the same repository, and some of its files."""

    chance: random.Random
    bank: Bank
    others: Sequence[str]
    files: Sequence[str]

    def prompt(self) -> str:
        """A system prompt of a random size."""
        chance, bank = self.chance, self.bank
        size = int(SIZES[0] * (SIZES[1] / SIZES[0]) ** chance.random())
        parts = [chance.choice(bank.openings)]
        while sum(map(len, parts)) < size:
            parts += chance.sample(bank.rules, len(bank.rules))
            parts.append("# Tools\n" + "\n".join(f"- {tool}" for tool in chance.sample(bank.tools, len(bank.tools))))
            parts.append("Files:\n" + "\n".join(f"- {file}" for file in chance.sample(self.files, min(len(self.files), 12))))
        while sum(map(len, parts)) > size and len(parts) > 3:
            parts.pop(chance.randrange(1, len(parts)))
        return "\n\n".join([*parts, bank.surroundings] if chance.random() < 0.5 else parts)

    def another(self) -> str:
        """Another question to the same repository."""
        return self.chance.choice(self.others)

    def pick(self, texts: Sequence[str]) -> str:
        """One of some texts."""
        return self.chance.choice(texts)


Form = Callable[[str, Around], str]


def _chat(question: str, around: Around, user: str, reply: str) -> str:
    turns = [f"{user} {around.another()}\n{reply} {around.pick(around.bank.replies)}" for _ in range(around.chance.randint(1, 4))]
    return "\n\n".join([*turns, f"{user} {question}"])


def _issue(question: str, around: Around, heading: str) -> str:
    sections = {
        "Describe the bug": f"{question}\n\n{around.pick(around.bank.context)}",
        "To Reproduce": "1. Install the package\n2. Run it\n3. See error",
        "Expected behavior": "A clear and concise description of what you expected to happen.",
        "Environment": "- OS: Linux 6.1\n- Version: 3.4.5\n- Docker: no",
    }
    form = "\n\n".join(f"{heading.format(name)}\n\n{text}" for name, text in sections.items())
    return f"<!-- Please search the existing issues first. -->\n\n- [x] I have read the documentation\n- [ ] I can send a fix\n\n{form}\n"


def _flat(text: str) -> str:
    return " ".join(text.split())


DEVELOPED_FORMS: Mapping[str, Form] = {
    "prompt, question last": lambda q, a: f"{a.prompt()}\n\n{q}",
    "prompt, then User:": lambda q, a: f"{a.prompt()}\n\nUser: {q}\nAssistant:",
    "prompt, question in the middle": lambda q, a: f"{a.prompt()}\n\nQuestion: {q}\n\n{a.pick(a.bank.context)}\n\n{a.pick(a.bank.endings)}",
    "prompt, question, a word of thanks": lambda q, a: f"{a.prompt()}\n\n{q}\n\n{a.pick(a.bank.endings)}",
    "prompt on one line": lambda q, a: f"{_flat(a.prompt())} {q}",
    "conversation": lambda q, a: f"{a.prompt()}\n\n{_chat(q, a, 'User:', 'Assistant:')}",
    "conversation without prompt": lambda q, a: _chat(q, a, "Human:", "AI:"),
    "tag among tags": lambda q, a: (
        f"<user_info>\n{a.bank.surroundings}\n</user_info>\n<rules>\n{a.prompt()}\n</rules>\n<user_query>\n{q}\n</user_query>"
    ),
    "reminder after": lambda q, a: f"{q}\n\n<system-reminder>\n{a.prompt()}\n</system-reminder>",
    "JSON arguments": lambda q, a: json.dumps({"query": q, "limit": 10, "path": a.pick(a.files), "explanation": a.pick(a.bank.replies)}),
    "JSON messages": lambda q, a: json.dumps(
        [
            {"role": "system", "content": a.prompt()},
            {"role": "user", "content": a.another()},
            {"role": "assistant", "content": a.pick(a.bank.replies)},
            {"role": "user", "content": q},
        ]
    ),
}
DEVELOPED_TOO_FORMS: Mapping[str, Form] = {
    "prompt, question last": lambda q, a: f"{a.prompt()}\n\n---\n\n{q}\n",
    "prompt, question under a heading": lambda q, a: f"{a.prompt()}\n\n## Task\n\n{q}\n\n## Notes\n\n{a.pick(a.bank.context)}",
    "prompt, question as it was told": lambda q, a: f"{a.prompt()}\n\nThe user has asked the following:\n\n{q}\n\n{a.pick(a.bank.endings)}",
    "prompt, question, surroundings": lambda q, a: f"{a.prompt()}\n\n{q}\n\n{a.bank.surroundings}\n\n{a.pick(a.bank.endings)}",
    "prompt on one line": lambda q, a: f"{_flat(a.prompt())} Query: {q}",
    "worked examples": lambda q, a: (
        f"{a.prompt()}\n\nExamples\n\nQuestion: {a.another()}\nThought: I should search.\nAction: semantic_lookup\n"
        f"Observation: {a.pick(a.bank.replies)}\n\nBegin!\n\nQuestion: {q}\nThought:"
    ),
    "conversation in bold": lambda q, a: _chat(q, a, "**Human**:", "**Claude**:"),
    "conversation in tokens": lambda q, a: (
        f"<|im_start|>system\n{a.prompt()}<|im_end|>\n<|im_start|>user\n{a.another()}<|im_end|>\n<|im_start|>assistant\n"
        f"{a.pick(a.bank.replies)}<|im_end|>\n<|im_start|>user\n{q}<|im_end|>\n<|im_start|>assistant\n"
    ),
    "tag among tags": lambda q, a: (
        f"<instructions>\n{a.prompt()}\n</instructions>\n\n<retrieved_context>\n{a.pick(a.bank.context)}\n</retrieved_context>\n\n"
        f"<question>{q}</question>"
    ),
    "call of a tool": lambda q, _: json.dumps(
        {"id": "call_7f3", "type": "function", "function": {"name": "search", "arguments": json.dumps({"question": q, "top_k": 5})}}
    ),
    "call in tags": lambda q, a: (
        f'<invoke name="search_code">\n<parameter name="path">{a.pick(a.files)}</parameter>\n'
        f'<parameter name="query">{q}</parameter>\n</invoke>'
    ),
    "call in Python": lambda q, a: f"search_code(query={json.dumps(q)}, top_k=5, path={json.dumps(a.pick(a.files))})",
}
ODD_FORMS: Mapping[str, Form] = {
    "prompt, question last": lambda q, a: f"{a.prompt()}\n\n{q}\n",
    "prompt, question and answer headed": lambda q, a: f"{a.prompt()}\n\n### Question\n{q}\n\n### Answer\n",
    "prompt, my question is": lambda q, a: f"{a.prompt()}\n\nMy question is: {q}\n\n{a.pick(a.bank.endings)}",
    "prompt, then Human:": lambda q, a: f"{a.prompt()}\n\nHuman: {q}\n\nAssistant:",
    "prompt, question, ending": lambda q, a: f"{a.prompt()}\n\n{q}\n\n{a.pick(a.bank.endings)}",
    "prompt on one line": lambda q, a: f"{_flat(a.prompt())} Now answer this. {q}",
    "instruction tokens": lambda q, a: f"<s>[INST] <<SYS>>\n{a.prompt()}\n<</SYS>>\n\n{q} [/INST]",
    "tags": lambda q, a: (
        f"<system_prompt>\n{a.prompt()}\n</system_prompt>\n<conversation_history>\n{_chat(a.another(), a, 'user:', 'assistant:')}\n"
        f"</conversation_history>\n<user_message>{q}</user_message>"
    ),
    "files before": lambda q, a: f'<context>\n<file path="{a.pick(a.files)}">\n{a.pick(a.bank.replies)}\n</file>\n</context>\n\n{q}',
    "surroundings after": lambda q, a: (
        f"{q}\n\n<environment_details>\n{a.bank.surroundings}\n# Open files\n{a.pick(a.files)}\n{a.pick(a.files)}\n</environment_details>"
    ),
    "conversation with times": lambda q, a: _chat(q, a, "[10:32] User:", "[10:33] Bot:"),
    "request in JSON": lambda q, a: json.dumps(
        {
            "model": "large",
            "messages": [{"role": "system", "content": a.prompt()}, {"role": "user", "content": [{"type": "text", "text": q}]}],
        }
    ),
    "call over a protocol": lambda q, _: json.dumps(
        {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "search", "arguments": {"query": q, "top_k": 8}}}
    ),
    "settings of a run": lambda q, a: "system: |\n  " + a.prompt().replace("\n", "\n  ") + f"\nuser: |\n  {q}\n",
}
HELD_OUT_FORMS: Mapping[str, Form] = {
    "prompt, question last": lambda q, a: f"{a.prompt()}\n\n\n{q}",
    "prompt, question, ending": lambda q, a: f"{a.prompt()}\n\n{q}\n\n{a.pick(a.bank.endings)}",
    "prompt, question, context": lambda q, a: f"{a.prompt()}\n\nTask: {q}\n\nContext:\n{a.pick(a.bank.context)}",
    "prompt, user request": lambda q, a: f"{a.prompt()}\n\n## User request\n\n{q}\n",
    "prompt, query in bold": lambda q, a: f"{a.prompt()}\n\n**Query:** {q}\n\n**Instructions:** {a.pick(a.bank.endings)}",
    "prompt on one line": lambda q, a: f"{_flat(a.prompt())} User: {q}",
    "prompt escaped": lambda q, a: f"{a.prompt()}\n\n{q}".replace("\n", "\\n"),
    "conversation under headings": lambda q, a: (
        f"{a.prompt()}\n\n### User\n{a.another()}\n\n### Assistant\n{a.pick(a.bank.replies)}\n\n### User\n{q}\n"
    ),
    "conversation that goes on": lambda q, a: (
        f"{_chat(q, a, 'user:', 'assistant:')}\nassistant: {a.pick(a.bank.replies)}\nuser: yes, go ahead"
    ),
    "tags and attached files": lambda q, a: (
        f'{a.bank.surroundings}\n<additional_data>\n<open_file path="{a.pick(a.files)}">\n{a.pick(a.bank.replies)}\n</open_file>\n'
        f"</additional_data>\n<user_query>{q}</user_query>"
    ),
    "reminders on both sides": lambda q, a: (
        f"<system-reminder>\n{a.pick(a.bank.rules)}\n</system-reminder>\n{q}\n<system-reminder>\n{a.pick(a.bank.context)}\n</system-reminder>"
    ),
    "arguments in a fence": lambda q, _: (
        "```json\n" + json.dumps({"tool": "search", "tool_input": {"query": q, "limit": 3}}, indent=2) + "\n```"
    ),
    "arguments as written in Python": lambda q, a: str({"query": q, "path": a.pick(a.files), "k": 10}),
}
#: Questions in the form of an issue. They are a text of their own, which says more than the question: apart, and without a bar.
ISSUE_FORMS: Mapping[str, Form] = {
    "issue with bold headings": lambda q, a: _issue(q, a, "**{}**"),
    "issue with headings": lambda q, a: _issue(q, a, "### {}"),
}
DEVELOPED_SET, HELD_OUT_SET, ISSUES = "developed", "held out", "issues"
#: Sets of forms, each form with the bank of texts that it is filled with. What was held out was measured only, and changed nothing.
SETS: Mapping[str, Mapping[str, tuple[str, Form]]] = {
    DEVELOPED_SET: {
        **{name: (DEVELOPED_SET, form) for name, form in DEVELOPED_FORMS.items()},
        **{f"{name}, 2": ("developed too", form) for name, form in DEVELOPED_TOO_FORMS.items()},
        **{f"{name}, 3": ("odd", form) for name, form in ODD_FORMS.items()},
    },
    HELD_OUT_SET: {name: (HELD_OUT_SET, form) for name, form in HELD_OUT_FORMS.items()},
    ISSUES: {name: (HELD_OUT_SET, form) for name, form in ISSUE_FORMS.items()},
}
