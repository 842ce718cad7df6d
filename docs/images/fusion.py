#!/usr/bin/env python3
"""Draws fusion.svg: TPC-H Q6 over six million rows as it is written and as it runs. Usage: fusion.py > fusion.svg"""

ROWS, SELECTED = 6_000_000, 109_000  # rows of 32 bytes; about so many pass the filter
INK, DIM, LOOP, DATA = '#1f2328', '#59636e', '#d8e7fb', '#f4e3c1'


def text(x, y, words, size=13, color=INK, mono=False, weight='normal'):
    family = 'ui-monospace,Menlo,Consolas,monospace' if mono else 'system-ui,Helvetica,Arial,sans-serif'
    return (f'<text x="{x}" y="{y}" font-family="{family}" font-size="{size}" font-weight="{weight}" '
            f'fill="{color}">{words}</text>')


def box(x, y, width, height, fill):
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" fill="{fill}" stroke="{INK}"/>'


def arrow(x, y, to):
    return f'<path d="M{x} {y} V{to - 7}" stroke="{INK}" fill="none"/><path d="M{x - 4} {to - 8} h8 l-4 8 z" fill="{INK}"/>'


def megabytes(rows, bytes_per_row):
    return f'{rows * bytes_per_row / 1e6:,.0f} MB'


def loop(x, y, code, width=300):
    return box(x, y, width, 34, LOOP) + text(x + 12, y + 22, code, mono=True)


def vector(x, y, name, size):
    return box(x + 60, y, 180, 26, DATA) + text(x + 72, y + 17, name, 12) + text(x + 178, y + 17, size, 12, DIM)


def as_written(x):
    out = [text(x, 40, 'as written: four loops', 15, weight='bold')]
    steps = ['lineitem = map(rows, …)', 'selected = filter(lineitem, …)', 'products = map(selected, …)',
             'sum(products)']
    vectors = [('lineitem', megabytes(ROWS, 32)), ('selected', megabytes(SELECTED, 32)),
               ('products', megabytes(SELECTED, 8))]
    for i, step in enumerate(steps):
        y = 58 + 92 * i
        out.append(loop(x, y, step))
        if i < len(vectors):
            out += [arrow(x + 150, y + 34, y + 50), vector(x, y + 50, *vectors[i]), arrow(x + 150, y + 76, y + 92)]
    return out + [arrow(x + 150, 368, 390), text(x + 122, 406, '1 number', 12, DIM)]


def as_it_runs(x):
    lines = ['for 8 rows at once, on every core:', 'ship, quantity, discount, price = …',
             'mask = ship &gt;= 730 &amp;&amp; …', 'sum += price * discount where mask']
    out = [text(x, 40, 'as it runs: one loop', 15, weight='bold'), box(x, 58, 340, 116, LOOP)]
    out += [text(x + 14 + (24 if i else 0), 86 + 24 * i, line, mono=True) for i, line in enumerate(lines)]
    return out + [arrow(x + 170, 174, 196), text(x + 142, 212, '1 number', 12, DIM),
                  text(x, 250, 'Nothing is stored in between; every value', 13, DIM),
                  text(x, 270, 'stays in a register from its making to the sum.', 13, DIM)]


parts = ['<svg xmlns="http://www.w3.org/2000/svg" width="760" height="424" viewBox="0 0 760 424">',
         '<rect width="760" height="424" rx="10" fill="#ffffff"/>']
print('\n'.join(parts + as_written(30) + as_it_runs(390) + ['</svg>']))
