"""Extracts texts with trafilatura: reads lines of {"id", "html"} and writes lines of {"id", "text"}, for score.py."""

import json
import logging
import sys

import trafilatura

logging.disable(logging.CRITICAL)
for line in sys.stdin:
    page = json.loads(line)
    print(json.dumps({"id": page["id"], "text": trafilatura.extract(page["html"]) or ""}))
