"Charts draw any values as given, and none of them as markup"
import math
from xml.etree import ElementTree
import pytest
from learnloop.see.chart import Svg, line_chart, timeline_chart
NS = '{http://www.w3.org/2000/svg}'

def parse(svg):
    "The picture as a tree; says that it is one: a picture with a name and a description, without references to elsewhere"
    t = ElementTree.fromstring(svg)
    assert isinstance(svg, Svg) and svg._repr_html_()==svg and type(svg._repr_html_()) is str
    assert t.get('role')=='img' and t[0].tag==f'{NS}title' and t[0].text and t[1].tag==f'{NS}desc' and t[1].text
    assert not [k for o in t.iter() for k in o.attrib if 'href' in k or k.startswith('on') or k=='id'], 'an id would clash with that of the next picture'
    _,_,w,h = map(float, t.get('viewBox').split())
    for o in t.iter(f'{NS}text'):
        if o.get('transform'): continue
        assert -.1<=float(o.get('x'))<=w and 0<=float(o.get('y'))<=h, o.text
    return t

def said(svg): return parse(svg).find(f'{NS}desc').text
def texts(svg): return [o.text for o in parse(svg).iter(f'{NS}text')]
def curves(svg):
    "Points of the lines, in units of the drawing"
    ds = [o.get('d') for o in parse(svg).iter(f'{NS}path') if o.get('fill')=='none']
    return [[tuple(map(float, p.split())) for p in d[1:].split('L')] for d in ds]

@pytest.mark.parametrize('n', [1, 2, 24, 599, 600, 601, 1201, 50_000])
def test_long_lines_keep_their_extremes(n):
    ys = [math.sin(i*i) for i in range(n)]
    ys[n//3],ys[2*n//3] = 9.,-9.
    svg = line_chart(dict(a=(range(n), ys)))
    pts = [p for c in curves(svg) for p in c]
    assert len(pts)<=600 and f'{n} values' in said(svg) or n==1
    if n>3:
        top,low = min(pts, key=lambda o: o[1]),max(pts, key=lambda o: o[1])
        left,right = pts[0][0],pts[-1][0]
        for (x,_),i in ((top, n//3), (low, 2*n//3)): assert (x-left)/(right-left)==pytest.approx(i/(n-1), abs=.002)
        assert 'lowest -9 at' in said(svg) and 'highest 9 at' in said(svg) and f'first {ys[0]:.4g}, last {ys[-1]:.4g}' in said(svg)

@pytest.mark.parametrize('log', [False, True])
@pytest.mark.parametrize('x', ['', 'batch'])
def test_infinite_values_are_visible(x, log):
    ys = [1., *[math.nan]*18, -math.inf]
    svg = line_chart({'train':(range(20), ys), 'valid':([0,19], [2.,None])}, x=x, log=log, width=400)
    told, = (o for o in parse(svg).iter(f'{NS}text') if 'Not drawn' in o.text)
    assert told.text==f'Not drawn, as NaN or infinite{" or 0 and less"*log}: train 19 of 20'
    assert all(float(o.get('y'))<float(told.get('y'))-11 for o in parse(svg).iter(f'{NS}text') if o is not told and o.text!=told.text and not o.get('transform'))
    assert not any('Not drawn' in o for o in texts(line_chart({'a':([0,1], [None,1.])}))), 'there was nothing to draw'
    for o in ({'a':([0,1], [math.nan]*2)}, {'x'*200:([0,1], [math.inf]*2)}): assert any('Not drawn' in t for t in texts(line_chart(o, width=300)))

BAD = [None, math.nan, math.inf, -math.inf, 1e308, -1e308]
@pytest.mark.parametrize('log', [False, True])
@pytest.mark.parametrize('bad', BAD)
def test_values_that_cannot_be_drawn_are_left_out_with_a_note(bad, log):
    svg = line_chart(dict(a=([0,1,2,bad,4], [1.,bad,2.,3.,4.])), log=log)
    assert len(curves(svg)[0])==3 and '3 values, 2 not drawn' in said(svg)
    if log: assert '1 values' not in (s := said(line_chart(dict(a=([0,1], [0.,-1.])), log=True))) and 'a: no values, 2 not drawn.' in s

@pytest.mark.parametrize('xs', [[0], [5,5,5], [0,1e9], [3,2,1], [.5,.25], [1_700_000_000+i for i in range(3)]], ids=str)
def test_any_xs(xs): assert 'value' in said(line_chart(dict(a=(xs, range(len(xs)))))) or len(xs)==1

@pytest.mark.parametrize('kw', [dict(width=10), dict(height=10), dict(width=math.nan)], ids=str)
def test_sizes_that_hold_nothing(kw):
    with pytest.raises(ValueError, match='must be 120 and 100 or more'): line_chart({}, **kw)

def test_bad_series():
    with pytest.raises(ValueError, match="'a' has 1 xs and 2 ys"): line_chart(dict(a=([0], [1,2])))
    with pytest.raises(ValueError) as e: line_chart(dict(a=([0], ['x'])))
    assert "series 'a'" in e.value.__notes__[0]

def test_slivers_are_merged():
    svg = timeline_chart([('a', [(i/1000, .0009, 'x') for i in range(20_000)]), ('b', [(5.,1e-9,'y')])])
    rects = list(parse(svg).iter(f'{NS}rect'))
    assert len(rects)<700 and len(svg)<400_000 and 'a: 20000 stretches' in said(svg)
    assert any('times' in o[0].text for o in rects) and float(rects[-1].get('width'))>=.5, 'a short one is there to see'

def test_a_unit_is_one_of_three():
    with pytest.raises(ValueError, match="unit is 'min'"): timeline_chart([], unit='min')
