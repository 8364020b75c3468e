"""
Shows the answer about a kernel of the user's own.

The interface is one function for each form. All of them read the answer and nothing else, so that it can be shown long
after it was computed. The room never simulates.
"""
