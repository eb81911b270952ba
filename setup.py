"An installation writes the stubs, which git has only two of, before it packs them: see `tools/stubs.py`"
import runpy
from pathlib import Path
from setuptools import setup

runpy.run_path(str(Path(__file__).with_name('tools')/'stubs.py'), run_name='__main__')
setup()
