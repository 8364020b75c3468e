"""The calendar against a dictionary of times and turns."""

from hypothesis import given
from hypothesis import strategies as st

from gpusim.sim.columns import zeros
from gpusim.sim.core.calendar import Calendar

FROM_NOW = st.sampled_from((0, 1, 2, 3, 9, 4095, 4096, 4097, 9000, 70_000))
"""Half cycles within a turn of the calendar, about its length, and beyond."""


@given(st.lists(st.tuples(st.integers(0, 6), FROM_NOW, st.sampled_from(("", "", "first", "any"))), max_size=60))
def test_the_calendar_takes_the_first_event_and_of_one_time_the_one_scheduled_first(requests):
    """Whoever is scheduled anew has the new time and comes after all that have it already. Time goes on with events."""
    calendar, model, now = Calendar([zeros(7) for _ in range(4)]), {}, 0
    for turn, (event, later, drops) in enumerate(requests):
        calendar.schedule(event, now + later)
        model[event] = (now + later, turn)
        dropped = event
        if drops == "first":
            dropped = min(model, key=model.__getitem__)
            assert calendar.first() == dropped
            now = model[dropped][0]
        if drops:
            calendar.drop(dropped)
            del model[dropped]
        assert calendar.count == len(model)

    taken = []
    while calendar.count:
        taken.append(calendar.first())
        calendar.drop(taken[-1])
    assert taken == sorted(model, key=model.__getitem__)
