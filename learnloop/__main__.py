"`python -m learnloop` is the command `learnloop`"
from learnloop.app.cli import main

if __name__=='__main__': main()
