"""Output tiles that tests of the schedulers for sm_90 draw, and devices that hold whole clusters of them."""

from hypothesis import strategies as st

from gpusim.tile.scheduler.cluster_tiles import ClusterTiles

CLUSTERS = [(1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (1, 4), (2, 4), (8, 1)]
RASTER_ORDERS = ["heuristic", "along_m", "along_n"]


def drawn_tiles(most_k_tiles=40):
    """At most 14 x 14 x 2 tiles of 128 x 128 x 64, ragged or not."""
    return st.builds(
        ClusterTiles,
        problem=st.tuples(
            st.integers(1, 14 * 128), st.integers(1, 14 * 128), st.integers(1, most_k_tiles * 64), st.integers(1, 2)
        ),
        tile=st.just((128, 128, 64)),
        cluster=st.sampled_from(CLUSTERS),
        max_swizzle=st.sampled_from([1, 2, 4, 8]),
        raster_order=st.sampled_from(RASTER_ORDERS),
    )


def drawn_launches(most_k_tiles=40):
    """Tiles, and the number of SMs of a device that fills them with whole clusters."""
    return st.tuples(drawn_tiles(most_k_tiles), st.integers(1, 40)).map(
        lambda drawn: (drawn[0], drawn[0].cluster_size * drawn[1])
    )
