"Images: what is drawn is what was given, its range stretched only if it has to be"
