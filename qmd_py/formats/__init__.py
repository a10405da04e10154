"""Files of any kind → the text and the sections that the index takes."""
