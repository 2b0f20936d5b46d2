"""The invalid corpus: databases that each break one condition of the section Validity.

Each is a golden database with a change, after which all checksums are computed again.
"""
