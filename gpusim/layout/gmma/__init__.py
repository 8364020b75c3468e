"""
The shared-memory layouts that wgmma reads: CuTe's GMMA atoms, and tiles made of them.

The interface is ``GmmaAtom``, ``widest_atom``, ``tile_to_shape`` with its ``GmmaTile``, and ``parse_gmma`` for names.
The room never knows the instruction that reads a tile, its descriptors, or the copy that fills it.
"""
