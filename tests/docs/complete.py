#!/usr/bin/env python3
"""Checks that the documentation leaves nothing out: every word of the tables that define the language, every pass,
every configuration key stands in the page that describes them. And that links between pages lead somewhere."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# table, what a row begins with, page
TABLES = [
    ('weldir/ir/ops.def', r'WELD_SCALAR_OP\(\w+, *"([^"]+)"', 'docs/language.md'),
    ('runtime/abi/builders.def', r'WELD_BUILDER\(\w+, *"([^"]+)"', 'docs/language.md'),
    ('weldir/ir/attrs.def', r'WELD_ATTR\(\w+, *"([^"]+)"', 'docs/language.md'),
    ('frontend/weld/tokens.def', r'WELD_WORD\(\w+, *"([^"]+)"', 'docs/language.md'),
    ('frontend/weld/tokens.def', r'WELD_CALL\(\w+, *"([^"]+)"', 'docs/language.md'),
    ('frontend/weld/standard.weld', r'macro (\w+)', 'docs/language.md'),
    ('weldir/passes/passes.def', r'WELD_(?:MODULE_)?PASS\(\w+, *"([^"]+)"', 'docs/explain.md'),
    ('runtime/abi/kernels.def', r'WELD_KERNEL\(\w+, *"([^"]+)"', 'docs/kernels.md'),
    ('frontend/daphne/builtins.def', r'DAPHNE_BUILTIN\((\w+),', 'docs/daphnedsl-builtins.md'),
    ('frontend/api/config.def', r'WELD_CONFIG\([^"]*"([^"]+)"', 'docs/c-api.md'),
    ('frontend/cli/options.cpp', r'\{"(--?[a-zA-Z0-9-]+)", "[^"]*", Takes::\w+, "[^"]*",\s*"', 'docs/cli.md'),
]


def missing():
    for table, row, page in TABLES:
        words = re.findall('^ *' + row if table.endswith(('.def', '.weld')) else row,
                           (ROOT / table).read_text(encoding='utf-8'), re.M)
        if not words:
            yield f'{table}: no rows found; is the pattern in {pathlib.Path(__file__).name} out of date?'
        text = (ROOT / page).read_text(encoding='utf-8').replace('\\|', '|')
        for word in words:
            if not any(re.search(r'(?<![\w-])' + re.escape(w) + r'(?!\w)', text) for w in (word, '`' + word.split('.')[-1])):
                yield f'{page}: says nothing of `{word}` ({table})'


def anchor(heading):
    return re.sub(r'[^\w -]', '', heading.lower()).replace(' ', '-')


def anchors(page):
    text = re.sub(r'^```.*?^```', '', page.read_text(encoding='utf-8'), flags=re.M | re.S)
    return {anchor(h.strip()) for h in re.findall(r'^#+ (.*)$', text, re.M)}


def broken_links():
    folders = 'codegen', 'docs', 'examples', 'frontend', 'runtime', 'weldir'
    pages = [ROOT / 'README.md', *(page for folder in folders for page in sorted((ROOT / folder).rglob('*.md')))]
    for page in pages:
        prose = re.sub(r'^```.*?^```|`[^`\n]+`', '', page.read_text(encoding='utf-8'), flags=re.M | re.S)
        for target in re.findall(r'\]\(([^)\s]+)\)', prose):
            path, _, part = target.partition('#')
            if '://' in target:
                continue
            to = (page.parent / path).resolve() if path else page
            name = page.relative_to(ROOT)
            if not to.exists():
                yield f'{name}: link to {target}, which does not exist'
            elif part and to.suffix == '.md' and part not in anchors(to):
                yield f'{name}: link to {target}, which has no such heading'


if __name__ == '__main__':
    found = [*missing(), *broken_links()]
    print('\n'.join(found + [f'{len(found)} complaints']))
    sys.exit(1 if found else 0)
