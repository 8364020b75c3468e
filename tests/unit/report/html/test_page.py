"""The page: data that cannot end its script element, and a policy that names what may run."""

import base64
import hashlib
import json
import re

from gpusim.report.html.page import SCRIPTS, json_text, page

HOSTILE = {"name": "</script><script>alert(1)</script><!-- & {{data}}", "line": "\u2028"}


def content(text, tag):
    return re.search(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)[1]


def test_no_text_of_the_data_looks_like_a_tag():
    text = json_text(HOSTILE)

    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == HOSTILE


def test_the_data_stands_in_the_page_as_it_is():
    text = page(HOSTILE, HOSTILE["name"])
    found = re.search('<script type="application/json" id="data">(.*?)</script>', text)[1]

    assert json.loads(found) == HOSTILE
    assert text.count("<script") == 2
    assert "<title>&lt;/script&gt;" in text


def test_the_policy_allows_this_style_and_these_scripts_alone():
    text = page({}, "empty")
    policy = re.search('Content-Security-Policy" content="(.*?)"', text)[1]
    digests = [
        base64.b64encode(hashlib.sha256(content(text, tag).encode()).digest()).decode() for tag in ("script", "style")
    ]

    assert policy.startswith("default-src 'none';")
    assert re.findall("'sha256-(.*?)'", policy) == digests
    assert "unsafe" not in policy


def test_nothing_in_the_page_names_another_place():
    text = page({}, "empty")

    assert set(re.findall(r"https?://[^\s\"')]*", text)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"\b(src|href)=|@import|url\(", text.replace('href="#', ""))


def test_every_script_is_in_the_page():
    text = page({}, "empty")

    assert len(SCRIPTS) == len(set(SCRIPTS))
    assert text.count("// ") > len(SCRIPTS)
    assert "{{" not in text
