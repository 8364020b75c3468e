"""What tests of the Python interface stand on: the command line's JSON, to compare with."""

import json

import pytest


@pytest.fixture
def gpusim_json(gpusim):
    """Data that a command prints."""

    def call(*arguments):
        answer = gpusim(*arguments)
        assert answer.code == 0, answer.err
        return json.loads(answer.out)

    return call
