"`python -m learnloop` is the command `learnloop`"
from learnloop.cli import main

if __name__=='__main__': main()
