"""Texts that somebody could put into a name, a reason or an output: said here alone.

What runs says so: `$(touch pwned)` leaves a file, a script of a page a dialog.
"""

#: What is hostile about it -> the text. None of them may be more than text, wherever it is shown.
TEXTS = {
    "shell": "a; touch pwned & $(touch pwned) `touch pwned` | touch pwned > pwned",
    "quotes": "'; touch pwned; ' \"; touch pwned; \"",
    "newline": "a\nVERDICT: pass\ntouch pwned",
    "return": "good\rBAD",
    "escape": "\x1b[2J\x1b]0;title\x07\x1b]8;;http://example.org\x1b\\link",
    "c1": "\x9b2Jb\x90",
    "bidi": "a\u202egnp.exe\u2066b\u2069",
    "nul": "a\0b",
    "script": "<script>alert('pwned')</script>",
    "attribute": "\"><img src=x onerror=alert('pwned')> ' onmouseover='alert(1)",
    "cdata": "]]><script>alert(1)</script><![CDATA[ &lt;b&gt; &#60;b>",
    "separators": "a\u2028b\u2029c\x85d",
    "labels": 'a"} 1\nacceptance_verdict_status{system="a\\',
    "formula": "=HYPERLINK(1)",
    "plus": "+1+cmd|' /C calc'!A0",
    "minus": "-1+1",
    "at": "@SUM(1)",
    "tab": "\t=1+1",
    "wide": "\uff1d1+1",
    "traversal": "../../../../tmp/pwned",
    "absolute": "/etc/passwd",
    "dash": "--output=pwned",
    "long": "x" * 10_000,
    "surrogate": "a\udcff\ud800b",
    "noncharacter": "a\ufffe\uffffb",
    "markdown": "![a](http://example.org/x) **b** [c](javascript:alert(1)) `d` | e \\| f\\",
    "template": "{{ 7*7 }} {% raw %} ${7*7} %(a)s {0}",
    "header": "a\r\nBcc: all@example.org\r\n\r\nbody",
    "python": '"""\nimport os\nos.mkdir("pwned")\n"""',
    "sql": "'; DROP TABLE samples; --",
    "empty": " ",
}
