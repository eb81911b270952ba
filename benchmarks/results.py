"""Rows of numbers that benchmarks measured, as a table in a terminal, and as a JSON file that the page *Speed* reads

A row is a dict. `group` and `name` name the measurement. `values` are the measurements (a ratio for each chunk or round), with their `median` and quartiles, `low`
and `high`. `unit` is their unit, and `limit` the target. With `--check`, a benchmark runs five times: `runs` are the medians of each run, and a target is met if
the median of these is at most 5% above it.
"""
import json, platform, shlex, sys, torch
from datetime import date
from pathlib import Path
from statistics import median, quantiles

SLACK = 1.05  # A target is met up to this factor
RUNS = 5      # With `--check`
FOLDER = Path(__file__).parent/'results'

def quartiles(vals):
    return [*quantiles(vals, n=4, method='inclusive')[::2]] if len(vals)>1 else [vals[0]]*2

def row(group, name, values, unit='times by hand', limit=None, **more):
    "Make a row of one measurement with repetitions `values`"
    low,high = quartiles(values)
    return dict(group=group, name=name, median=median(values), low=low, high=high, n=len(values), unit=unit, limit=limit, **more)

def by_name(rows): return {(o['group'],o['name'],o['unit']):o for o in rows}

def together(runs):
    "Join the rows of several runs: the median of their medians, which are kept in `runs`"
    res = []
    for k,first in by_name(runs[0]).items():
        same = [by_name(o)[k] for o in runs if k in by_name(o)]
        meds = [o['median'] for o in same]
        low,high = (median(o[q] for o in same) for q in ('low','high'))
        res.append(first | dict(median=median(meds), low=low, high=high, n=sum(o['n'] for o in same), runs=meds))
    return res

def is_met(o):
    "Whether the row is within its limit; None if it has none"
    return None if o['limit'] is None else o['median']<=o['limit']*SLACK

def number(x):
    "Format a number with a useful number of digits"
    if x==0: return '0'
    return f'{x:.0f}' if abs(x)>=100 else f'{x:.1f}' if abs(x)>=10 else f'{x:.3f}' if abs(x)>=.001 else f'{x:.1e}'

def cells(o):
    "Return the cells of a row"
    limit = '' if o['limit'] is None else number(o['limit'])
    met = {None:'', True:'yes', False:'no'}[is_met(o)]
    middle = number(o['low']) if o['low']==o['high'] else f"{number(o['low'])} … {number(o['high'])}"
    return [o['group'], o['name'], number(o['median']), middle, o['unit'], limit, met, ', '.join(map(number, o.get('runs', [])))]

def table(rows):
    "Make a markdown table of `rows`, without empty columns"
    cols = ['', '', 'median', 'quartiles', 'of', 'at most', 'met', 'runs']
    lines = [cells(o) for o in rows]
    kept = [i for i in range(len(cols)) if i in (0, 2) or any(o[i] for o in lines)]
    aligned = ['---' if i in (0, 1, 4) else '---:' for i in range(len(cols))]
    return '\n'.join(f"| {' | '.join(o[i] for i in kept)} |" for o in [cols, aligned, *lines])

# ---- files

def processor():
    "Return the model of the processor, according to the system"
    info = Path('/proc/cpuinfo')
    names = [o.partition(':')[2].strip() for o in info.read_text().splitlines() if o.startswith('model name')] if info.exists() else []
    return names[0] if names else platform.processor() or platform.machine()

def write(path, rows, **about):
    "Write `rows` to the file `path`, with the command and the machine"
    module = Path(sys.argv[0]).stem if sys.modules['__main__'].__spec__ is None else sys.modules['__main__'].__spec__.name
    args = ['FOLDER' if sys.argv[i-1]=='--cache' else shlex.quote(o) for i,o in enumerate(sys.argv[1:], 1) if '--json' not in (o, sys.argv[i-1])]
    res = dict(command=' '.join(['python -m', module, *args]), date=date.today().isoformat(), torch=torch.__version__, python=platform.python_version(),
        threads=torch.get_num_threads(), processor=processor(), **about, rows=rows)
    Path(path).write_text(json.dumps(res, indent=1, ensure_ascii=False)+'\n')

def read(name):
    "Read the stored results of the benchmark `name`"
    return json.loads((FOLDER/f'{name}.json').read_text())

def page(name, *units, groups=''):
    "Return the stored results of the benchmark `name` as markdown: rows of these `units` whose groups start with `groups`, and their origin below"
    kept = read(name)
    rows = [o for o in kept['rows'] if (not units or o['unit'] in units) and o['group'].startswith(groups)]
    if not rows: raise ValueError(f'benchmarks/results/{name}.json has no row of {units or groups!r}')
    on = f"{kept['date']}, torch {kept['torch']}, Python {kept['python']}, {kept['processor']}, threads: {kept['threads']}"
    return f"{table(rows)}\n\n`{kept['command']}`: {on}"

def settings():
    "Read the settings of benchmarks in `settings.ini`"
    from learnloop.app.settings import run_settings
    return run_settings('speed', seed=42, rounds=16, chunks=20, fits=4)

def add_options(p):
    "Add `--json` and `--check` to the parser `p`"
    p.add_argument('--json', type=Path, metavar='FILE', help='write what was measured to this file')
    p.add_argument('--check', action='store_true', help=f'run {RUNS} times, and fail unless each target is met by the median of the runs, within 5%%')

def report(args, measure, **about):
    "Print and store the rows that `measure()` returns; with `--check`, exit with 1 if a target is missed"
    runs = []
    for i in range(RUNS if args.check else 1):
        if args.check: print(f'run {i+1} of {RUNS}', file=sys.stderr, flush=True)
        runs.append(measure())
    rows = together(runs) if args.check else runs[0]
    print(f'\n{table(rows)}', flush=True)
    if args.json: write(args.json, rows, runs=len(runs), **about)
    missed = [f"{o['group']}, {o['name']}" for o in rows if is_met(o) is False]
    if args.check and missed: sys.exit(f'missed: {"; ".join(missed)}')
    return rows
