"""One file, one signal. Its name is the file's, its docstring is its documentation."""
