"""Draw the README's picture: the figure of `make demo`, for a light and a dark page

`python -m tools.pictures` trains the demo with the settings of `make demo` and writes `nbs/images/demo.png` and `demo-dark.png`. Run it when the demo
or `plot_fit` changes."""
import io, tempfile
from contextlib import redirect_stdout
from pathlib import Path
from PIL import Image
from learnloop.app.demo import demo, plot_fit
from learnloop.app.settings import run_settings
from learnloop.measure.display import plot_style

FOLDER = Path(__file__).parents[1]/'nbs/images'
# The colours of text on a code host's light and dark pages
INK = {'demo':'#1f2328', 'demo-dark':'#e6edf3'}

def main():
    "Train once, and draw the same figure in both colours, with 64 colours each to keep the files small"
    opts = run_settings('demo', epochs=10, bs=64, lr=.01, seed=42, folder=Path('runs'))
    with tempfile.TemporaryDirectory() as d, redirect_stdout(io.StringIO()): learn = demo(**opts | dict(folder=Path(d)))
    FOLDER.mkdir(exist_ok=True)
    for name,ink in INK.items():
        with plot_style(ink): fig = plot_fit(learn)
        buf = io.BytesIO()
        fig.savefig(buf, dpi=75)
        Image.open(buf).quantize(64).save(FOLDER/f'{name}.png', optimize=True)

if __name__=='__main__': main()
