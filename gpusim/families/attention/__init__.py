"""
Fused attention: what its scenarios say, and a stage in each module that ``families/family.py`` asks for.

``program`` answers in which order a CTA does what, ``tile`` at which addresses, ``execute`` what comes of it on real
data, ``lower`` which instructions it takes.
"""
