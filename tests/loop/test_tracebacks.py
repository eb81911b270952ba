"What a user sees of an error: the frame that raised it comes last"
from learnloop import *
