"""A second reader of fpdb's files, written from storage-format.md alone.

The modules follow the sections of that document, in its order, and use its terms. They need nothing but
Python's standard library. The reader is made to be understood, not to be fast: it reads each file entirely
and checks everything that the document says about it before it gives an answer.
"""
